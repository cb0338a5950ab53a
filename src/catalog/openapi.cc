#include "catalog/openapi.h"

#include <array>

#include "encoding/json.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr std::array kEndpoints{
    Endpoint{Operation::OpenApi, "GET", "/api/v1/openapi.json", {}, "This document", ""},
    Endpoint{
        Operation::Index, "GET", "/api/v1/index", {}, "Every Kube that passed its test, for kpm", "Index"},
    Endpoint{Operation::Search,
             "GET",
             "/api/v1/packages",
             {},
             "Packages by name, or those in which each word of `q` occurs; of that format, in that state",
             "Packages",
             200,
             true},
    Endpoint{Operation::Versions,
             "GET",
             "/api/v1/packages/{name}",
             {},
             "All versions, the newest first, without their descriptions, inputs and readmes",
             "Versions",
             200,
             true},
    Endpoint{Operation::ShowVersion,
             "GET",
             "/api/v1/packages/{name}/versions/{version}",
             {},
             "One version; before it is published, for its author's token and those of moderators",
             "Version",
             200,
             false,
             {},
             {},
             OptionalToken::Heeded},
    Endpoint{Operation::ShowTest,
             "GET",
             "/api/v1/packages/{name}/versions/{version}/test",
             {},
             "The steps of its last test, with logs; before the version is published, for its author's token "
             "and those of moderators",
             "Run",
             200,
             false,
             {},
             {},
             OptionalToken::Heeded},
    Endpoint{Operation::ShowChanges,
             "GET",
             "/api/v1/packages/{name}/versions/{version}/changes",
             {},
             "Changes since the version `from`, else since the one before it: the objects that both make of "
             "their default values, their defaults and inputs; before the version is published, for its "
             "author's token and those of moderators",
             "Changes",
             200,
             false,
             {},
             {},
             OptionalToken::Heeded},
    Endpoint{
        Operation::ShowDownloads,
        "GET",
        "/api/v1/packages/{name}/downloads",
        {},
        "How often its versions were downloaded from /api/v1/blobs: each address counts once a day for each",
        "Downloads"},
    Endpoint{Operation::NoteInstall,
             "POST",
             "/api/v1/packages/{name}/versions/{version}/installs",
             {},
             "Say that it was installed, without a body. Each address counts once a day for each version, "
             "and isn't "
             "kept",
             "",
             202},
    Endpoint{Operation::TestAgain, "POST", "/api/v1/packages/{name}/versions/{version}/test", Role::Author,
             "Test it again", "", 202, false, Scope::Versions},
    Endpoint{Operation::Yank, "PUT", "/api/v1/packages/{name}/versions/{version}/yank", Role::Author,
             "Take it out of lists and searches; requests for exactly this version still succeed", "", 204,
             false, Scope::Versions},
    Endpoint{Operation::Unyank, "DELETE", "/api/v1/packages/{name}/versions/{version}/yank", Role::Author,
             "Take that back", "", 204, false, Scope::Versions},
    Endpoint{Operation::Blob,
             "GET",
             "/api/v1/blobs/{digest}",
             {},
             "The bytes of a package by their digest, which never change",
             ""},
    Endpoint{Operation::Preview,
             "GET",
             "/api/v1/packages/{name}/versions/{version}/preview",
             {},
             "The modules and inputs with which a browser renders the version. The query parameters are the "
             "values of "
             "the form's fields",
             "Preview"},
    Endpoint{Operation::Module,
             "GET",
             "/api/v1/modules/{digest}",
             {},
             "A WebAssembly module that a preview names, which never changes. With the query parameters "
             "`package` and "
             "`version` an instance that doesn't know it prepares it; 503 until it has",
             ""},
    Endpoint{Operation::AddProject, "POST", "/api/v1/projects", Role::Author, "Link a git repository",
             "NewProject", 201, false, Scope::Projects, "ProjectRequest"},
    Endpoint{Operation::Projects, "GET", "/api/v1/projects", Role::Author, "Your projects", "Projects", 200,
             true},
    Endpoint{Operation::ShowProject, "GET", "/api/v1/projects/{name}", Role::Author, "One of your projects",
             "Project"},
    Endpoint{Operation::RemoveProject, "DELETE", "/api/v1/projects/{name}", Role::Author,
             "Stop polling it; its versions stay", "", 204, false, Scope::Projects},
    Endpoint{Operation::PollProject, "POST", "/api/v1/projects/{name}/poll", Role::Author, "Poll it now", "",
             202, false, Scope::Projects},
    Endpoint{Operation::Webhook,
             "POST",
             "/api/v1/hooks/{name}",
             {},
             "Called by GitHub, GitLab or Gitea, with their signature",
             "",
             202},
    Endpoint{Operation::Tokens, "GET", "/api/v1/tokens", Role::Author, "Your tokens, without themselves",
             "Tokens", 200, false, Scope::Tokens},
    Endpoint{Operation::MakeToken, "POST", "/api/v1/tokens", Role::Author,
             "Make a token, of the scopes of yours and for as long as yours at most", "NewToken", 201, false,
             Scope::Tokens, "TokenRequest"},
    Endpoint{Operation::RevokeToken, "DELETE", "/api/v1/tokens/{id}", Role::Author, "End a token of yours",
             "", 204, false, Scope::Tokens},
    Endpoint{Operation::AuditLog, "GET", "/api/v1/audit", Role::Administrator,
             "Changes, the newest first: `who` made it, `what` it was, and its `subject`", "AuditLog", 200,
             true},
    Endpoint{
        Operation::Ratings, "GET", "/api/v1/packages/{name}/ratings", {}, "How accounts rate it", "Ratings"},
    Endpoint{Operation::Rate, "PUT", "/api/v1/packages/{name}/rating", Role::Author,
             "Rate it, in place of your earlier rating", "", 204, false, Scope::Feedback, "RatingRequest"},
    Endpoint{Operation::TakeBackRating, "DELETE", "/api/v1/packages/{name}/rating", Role::Author,
             "Take back your rating", "", 204, false, Scope::Feedback},
    Endpoint{Operation::Comments,
             "GET",
             "/api/v1/packages/{name}/comments",
             {},
             "Comments on it, the newest first",
             "Comments",
             200,
             true},
    Endpoint{Operation::AddComment, "POST", "/api/v1/packages/{name}/comments", Role::Author,
             "Comment on it, in plain text", "NewComment", 201, false, Scope::Feedback, "CommentRequest"},
    Endpoint{Operation::ChangeComment, "PUT", "/api/v1/comments/{id}", Role::Author,
             "Change a comment of yours", "", 204, false, Scope::Feedback, "CommentRequest"},
    Endpoint{Operation::RemoveComment, "DELETE", "/api/v1/comments/{id}", Role::Author,
             "Remove a comment of yours", "", 204, false, Scope::Feedback},
    Endpoint{Operation::ReportPackage, "POST", "/api/v1/packages/{name}/reports", Role::Author,
             "Report it to the moderators", "", 202, false, Scope::Feedback, "ReasonRequest"},
    Endpoint{Operation::ReportComment, "POST", "/api/v1/comments/{id}/reports", Role::Author,
             "Report a comment to the moderators", "", 202, false, Scope::Feedback, "ReasonRequest"},
    Endpoint{Operation::HideComment, "PUT", "/api/v1/comments/{id}/hidden", Role::Moderator,
             "Hide a comment; everybody sees why. Closes the reports of it", "", 204, false, Scope::Moderate,
             "ReasonRequest"},
    Endpoint{Operation::ShowComment, "DELETE", "/api/v1/comments/{id}/hidden", Role::Moderator,
             "Take that back", "", 204, false, Scope::Moderate},
    Endpoint{
        Operation::HidePackage, "PUT", "/api/v1/packages/{name}/hidden", Role::Moderator,
        "Hide a package: it leaves lists, searches and the index, and requests for it or its bytes get 410 "
        "with the reason. Closes the reports of it",
        "", 204, false, Scope::Moderate, "ReasonRequest"},
    Endpoint{Operation::UnhidePackage, "DELETE", "/api/v1/packages/{name}/hidden", Role::Moderator,
             "Take that back; not of a package of yours", "", 204, false, Scope::Moderate},
    Endpoint{Operation::HideVersion, "PUT", "/api/v1/packages/{name}/versions/{version}/hidden",
             Role::Moderator, "The same of one version", "", 204, false, Scope::Moderate, "ReasonRequest"},
    Endpoint{Operation::UnhideVersion, "DELETE", "/api/v1/packages/{name}/versions/{version}/hidden",
             Role::Moderator, "Take that back; not of a package of yours", "", 204, false, Scope::Moderate},
    Endpoint{Operation::Domains, "GET", "/api/v1/domains", Role::Author,
             "Domains that you proved to be yours, and the record that proves one", "Domains"},
    Endpoint{Operation::ProveDomain, "PUT", "/api/v1/domains/{domain}", Role::Author,
             "Have the record looked up that proves it to be yours. It is done in a moment; then the domain "
             "is among the "
             "items of /api/v1/domains, or its claim has the problem",
             "DomainClaim", 202, false, Scope::Projects},
    Endpoint{Operation::RemoveDomain, "DELETE", "/api/v1/domains/{domain}", Role::Author, "Show it no more",
             "", 204, false, Scope::Projects},
    Endpoint{Operation::Reports, "GET", "/api/v1/reports", Role::Moderator, "Open reports, the oldest first",
             "Reports", 200, true, Scope::Moderate},
    Endpoint{
        Operation::Reviews, "GET", "/api/v1/reviews", Role::Author,
        "Versions that aren't published yet, the oldest first: yours, which await a review or were rejected; "
        "with `all=true`, for moderators, those of everybody that await one",
        "Reviews", 200, true},
    Endpoint{
        Operation::ReviewVersion, "PUT", "/api/v1/packages/{name}/versions/{version}/review", Role::Moderator,
        "Publish a version that awaits its review, or reject it with a reason that its author sees; not of a "
        "package of yours",
        "", 204, false, Scope::Moderate, "ReviewRequest"},
    Endpoint{Operation::CloseReport, "PUT", "/api/v1/reports/{id}/decision", Role::Moderator,
             "Close a report", "", 204, false, Scope::Moderate, "DecisionRequest"},
};

constexpr std::string_view kSchemas = R"({
  "Error": {"type": "object", "required": ["error"], "properties": {"error": {
    "type": "object", "required": ["kind", "message"], "properties": {
      "kind": {"type": "string"}, "message": {"type": "string"},
      "because": {"type": ["string", "null"]}, "hint": {"type": ["string", "null"]}}}}},
  "Listed": {"type": "object", "required": ["package", "version", "state"], "properties": {
    "package": {"type": "string"}, "version": {"type": "string"},
    "description": {"type": "string", "description": "After 600 bytes it is cut, and ends with …"},
    "state": {"$ref": "#/components/schemas/State"}, "created": {"type": "string", "format": "date-time"}}},
  "State": {"type": "string", "enum": ["queued", "testing", "passed", "failed"],
    "description": "By the last test that ended"},
  "NewTest": {"type": ["string", "null"], "enum": ["queued", "testing", null],
    "description": "Of a version that is tested once more: its state and its last run hold until that test ends"},
  "Packages": {"type": "object", "required": ["items", "next"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Listed"}},
    "next": {"type": ["string", "null"]}}},
  "Version": {"type": "object", "required": ["package", "version", "state"], "properties": {
    "package": {"type": "string"}, "version": {"type": "string"}, "tag": {"type": "string"},
    "commit": {"type": "string"}, "digest": {"type": ["string", "null"]},
    "state": {"$ref": "#/components/schemas/State"}, "newTest": {"$ref": "#/components/schemas/NewTest"}, "yanked": {"type": ["string", "null"]},
    "yankedBy": {"type": ["string", "null"], "enum": ["author", "moderator", null]},
    "hidden": {"type": ["string", "null"], "description": "Why moderators hid it; of a hidden version nothing else is said"},
    "created": {"type": "string", "format": "date-time"}, "format": {"type": ["string", "null"]},
    "description": {"type": "string"}, "home": {"type": ["string", "null"]}, "details": {"type": "string"},
    "maintainers": {"type": "array", "items": {"type": "string"}},
    "dependencies": {"type": "array", "items": {"type": "object", "properties": {
      "name": {"type": "string"}, "version": {"type": "string"}}}},
    "inputs": {"type": ["object", "boolean", "null"]}, "files": {"type": "array", "items": {"type": "string"}},
    "module": {"type": ["string", "null"], "description": "The path of its WebAssembly module in the repository; null: it is a directory"},
    "readme": {"type": "string"}, "downloads": {"type": "integer"}}},
  "Downloads": {"type": "object", "required": ["total", "last30Days", "installs", "versions", "days"], "properties": {
    "total": {"type": "integer"}, "last30Days": {"type": "integer"},
    "installs": {"type": "object", "description": "That machines reported whose users chose so", "properties": {
      "total": {"type": "integer"}, "last30Days": {"type": "integer"}}},
    "versions": {"type": "array", "items": {"type": "object", "properties": {
      "version": {"type": "string"}, "total": {"type": "integer"}, "last30Days": {"type": "integer"}}}},
    "days": {"type": "array", "description": "Of the last 30 days, the newest first", "items": {
      "type": "object", "properties": {
      "day": {"type": "string", "format": "date"}, "version": {"type": "string"}, "count": {"type": "integer"}}}}}},
  "Versions": {"type": "object", "required": ["items", "next"], "properties": {
    "items": {"type": "array", "items": {"type": "object", "required": ["package", "version", "state"], "properties": {
      "package": {"type": "string"}, "version": {"type": "string"}, "tag": {"type": "string"},
      "commit": {"type": "string"}, "digest": {"type": ["string", "null"]},
      "state": {"$ref": "#/components/schemas/State"}, "newTest": {"$ref": "#/components/schemas/NewTest"}, "yanked": {"type": ["string", "null"]},
    "yankedBy": {"type": ["string", "null"], "enum": ["author", "moderator", null]},
      "hidden": {"type": ["string", "null"], "description": "Why moderators hid it; of a hidden version nothing else is said"},
      "created": {"type": "string", "format": "date-time"}, "downloads": {"type": "integer"}}}},
    "next": {"type": ["string", "null"]},
    "owner": {"type": ["string", "null"], "description": "null: it isn't linked any more"},
    "domains": {"type": "array", "items": {"type": "string"}, "description": "That its owner proved by DNS"}}},
  "Run": {"type": "object", "required": ["attempt", "steps"], "properties": {
    "attempt": {"type": "integer"}, "nodes": {"type": ["string", "null"],
      "enum": ["no nodes", "real nodes", "simulated nodes", "real and simulated nodes", null]},
    "steps": {"type": "array", "items": {"type": "object", "required": ["name", "state", "summary"], "properties": {
      "name": {"type": "string"}, "state": {"type": "string", "enum": ["passed", "failed", "skipped"]},
      "summary": {"type": "string"}, "log": {"type": "string"},
      "began": {"type": "string", "format": "date-time"}, "milliseconds": {"type": "integer"}}}},
    "objects": {"type": ["object", "null"],
      "description": "What it is made of, and in which order: nodes and edges as mistctl graph -o json has them"},
    "security": {"type": ["object", "null"], "properties": {
      "level": {"type": "string", "enum": ["restricted", "baseline", "privileged"],
        "description": "The strictest level of the Pod Security Standards for its Pods; absent: it has none"},
      "workloads": {"type": "array", "items": {"type": "object"}}, "rights": {"type": "array", "items": {"type": "object"}},
      "cluster": {"type": "array", "items": {"type": "object"}}, "exposed": {"type": "array", "items": {"type": "object"}},
      "images": {"type": "array", "items": {"type": "object"}},
      "leftOut": {"type": "object", "additionalProperties": {"type": "integer"},
        "description": "Of lists of more than 200: how many are missing of those that matter least"}}}}},
  "Changes": {"type": "object", "required": ["from", "to", "objectsKnown", "objects", "unchanged"], "properties": {
    "from": {"type": "string"}, "to": {"type": "string"},
    "objectsKnown": {"type": "boolean", "description": "false: the objects of one of both were not kept"},
    "tooLong": {"type": "boolean", "description": "They were not, because they are more than is compared"},
    "objects": {"type": "array", "items": {"type": "object", "required": ["object", "change", "lines"], "properties": {
      "object": {"type": "string"}, "change": {"type": "string", "enum": ["added", "removed", "changed"]},
      "lines": {"type": "array", "items": {"type": "string"}, "description": "A unified diff of its YAML"},
      "cut": {"type": "boolean", "description": "There are more lines"}}}},
    "unchanged": {"type": "integer"},
    "defaults": {"type": "array", "items": {"type": "string"}}, "inputs": {"type": "array", "items": {"type": "string"}}}},
  "Preview": {"type": "object", "required": ["state"], "properties": {
    "state": {"type": "string", "enum": ["preparing", "ready"]},
    "name": {"type": "string", "description": "The package in messages"},
    "module": {"type": "object", "properties": {"url": {"type": "string"}, "bytes": {"type": "integer"},
      "files": {"type": "boolean", "description": "It holds files for engines, in the section mistletoe.files; false: it runs by itself"}}},
    "runs": {"type": "array", "description": "Modules to run, in this order", "items": {"type": "object", "properties": {
      "engine": {"type": ["string", "null"], "description": "null: the module runs by itself"}, "url": {"type": "string"}, "bytes": {"type": "integer"},
      "input": {"type": "string", "description": "The MistInput document"},
      "script": {"type": "boolean", "description": "It runs pre-install.py; what follows sees the files that this left"}}}},
    "clock": {"type": "string", "description": "What the guest's wall clock shows, nanoseconds since 1970"},
    "seed": {"type": "string", "description": "Of its random bytes, hexadecimal"},
    "keys": {"type": "object", "description": "What stands for each key that it asks for"},
    "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
    "transfer": {"type": "integer", "description": "Bytes of all modules on the way"},
    "ofVersion": {"type": "string", "description": "The query for the URL of a module that isn't found: behind a balancer, another instance prepares it then"},
    "command": {"type": ["string", "null"], "description": "Prints the same; null: its repository isn't linked any more"}}},
  "Project": {"type": "object", "required": ["name", "owner", "url", "path"], "properties": {
    "name": {"type": "string"}, "owner": {"type": "string"}, "url": {"type": "string"}, "path": {"type": "string"},
    "created": {"type": "string", "format": "date-time"}, "polled": {"type": ["string", "null"]},
    "problem": {"type": ["string", "null"]},
    "hidden": {"type": ["string", "null"], "description": "Why moderators hid its package"}}},
  "NewProject": {"type": "object", "required": ["name", "url", "webhook"], "properties": {
    "name": {"type": "string"}, "url": {"type": "string"}, "path": {"type": "string"},
    "webhook": {"type": "object", "properties": {"url": {"type": "string"}, "secret": {"type": "string"}}}}},
  "Projects": {"type": "object", "required": ["items", "next"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Project"}},
    "next": {"type": ["string", "null"]}}},
  "ProjectRequest": {"type": "object", "required": ["name", "url"], "properties": {
    "name": {"type": "string"}, "url": {"type": "string"}, "path": {"type": "string"}}},
  "Scopes": {"type": "array", "items": {"type": "string",
    "enum": ["projects", "versions", "feedback", "moderate", "admin", "tokens"]}},
  "TokenRequest": {"type": "object", "required": ["label"], "properties": {
    "label": {"type": "string"}, "scopes": {"$ref": "#/components/schemas/Scopes"},
    "expires": {"type": ["string", "null"], "format": "date-time"}}},
  "NewToken": {"type": "object", "required": ["token"], "properties": {
    "token": {"type": "string", "description": "Shown this once"}}},
  "Tokens": {"type": "object", "required": ["items"], "properties": {
    "items": {"type": "array", "items": {"type": "object", "required": ["id", "label", "scopes"], "properties": {
      "id": {"type": "integer"}, "label": {"type": "string"}, "scopes": {"$ref": "#/components/schemas/Scopes"},
      "created": {"type": "string", "format": "date-time"}, "used": {"type": ["string", "null"]},
      "expires": {"type": ["string", "null"]}}}}}},
  "AuditLog": {"type": "object", "required": ["items", "next"], "properties": {
    "items": {"type": "array", "items": {"type": "object", "properties": {
      "time": {"type": "string", "format": "date-time"}, "who": {"type": "string"}, "what": {"type": "string"},
      "subject": {"type": "string"}, "peer": {"type": ["string", "null"]}}}},
    "next": {"type": ["string", "null"]}}},
  "Ratings": {"type": "object", "required": ["count", "average", "stars"], "properties": {
    "count": {"type": "integer"}, "average": {"type": ["number", "null"]},
    "stars": {"type": "array", "items": {"type": "integer"}, "description": "How many gave one star, two, …"}}},
  "RatingRequest": {"type": "object", "required": ["stars"], "properties": {
    "stars": {"type": "integer", "minimum": 1, "maximum": 5}}},
  "Comments": {"type": "object", "required": ["items", "next"], "properties": {
    "items": {"type": "array", "items": {"type": "object", "required": ["id", "package", "by"], "properties": {
      "id": {"type": "integer"}, "package": {"type": "string"}, "by": {"type": "string"},
      "owner": {"type": "boolean", "description": "It is of the package's owner"},
      "text": {"type": ["string", "null"], "description": "null: it is hidden"},
      "created": {"type": "string", "format": "date-time"}, "changed": {"type": ["string", "null"]},
      "hidden": {"type": ["string", "null"], "description": "Why a moderator hid it"}}}},
    "next": {"type": ["string", "null"]}}},
  "CommentRequest": {"type": "object", "required": ["text"], "properties": {
    "text": {"type": "string", "maxLength": 4000}}},
  "NewComment": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
  "ReasonRequest": {"type": "object", "required": ["reason"], "properties": {
    "reason": {"type": "string", "maxLength": 500}}},
  "DecisionRequest": {"type": "object", "required": ["decision"], "properties": {
    "decision": {"type": "string", "maxLength": 500}}},
  "Reports": {"type": "object", "required": ["items", "next"], "properties": {
    "items": {"type": "array", "items": {"type": "object", "required": ["id", "package", "by", "reason"], "properties": {
      "id": {"type": "integer"}, "package": {"type": "string"},
      "comment": {"type": ["integer", "null"], "description": "null: it is about the package, or the comment was removed"},
      "quote": {"type": ["string", "null"], "description": "The comment when it was reported"},
      "quoted": {"type": ["string", "null"], "description": "The comment's account"},
      "by": {"type": "string"}, "reason": {"type": "string"},
      "created": {"type": "string", "format": "date-time"}}}},
    "next": {"type": ["string", "null"]}}},
  "ReviewRequest": {"type": "object", "required": ["decision"], "properties": {
    "decision": {"type": "string", "enum": ["publish", "reject"]},
    "reason": {"type": "string", "maxLength": 500, "description": "One line; needed to reject it"}}},
  "Reviews": {"type": "object", "required": ["items", "next"], "properties": {
    "items": {"type": "array", "items": {"type": "object", "required": ["package", "version", "owner", "review"], "properties": {
      "package": {"type": "string"}, "version": {"type": "string"}, "owner": {"type": "string"},
      "commit": {"type": "string"}, "digest": {"type": ["string", "null"]},
      "state": {"$ref": "#/components/schemas/State"},
      "review": {"type": "string", "enum": ["awaited", "rejected"]},
      "reason": {"type": ["string", "null"], "description": "Why it was rejected"},
      "created": {"type": "string", "format": "date-time"}}}},
    "next": {"type": ["string", "null"]}}},
  "Domain": {"type": "object", "required": ["domain", "proved", "checked"], "properties": {
    "domain": {"type": "string"}, "proved": {"type": "string", "format": "date-time"},
    "checked": {"type": "string", "format": "date-time", "description": "When the record was there last"},
    "failures": {"type": "integer", "description": "Days in a row on which it wasn't there"},
    "lapsed": {"type": "boolean", "description": "Those were too many: packages don't show the domain until it is proved again"}}},
  "DomainClaim": {"type": "object", "required": ["domain", "asked", "problem"], "properties": {
    "domain": {"type": "string"}, "asked": {"type": "string", "format": "date-time"},
    "problem": {"type": ["string", "null"], "description": "Why it isn't proved; null: its record is being looked up"}}},
  "Domains": {"type": "object", "required": ["items", "claims", "record"], "properties": {
    "items": {"type": "array", "items": {"$ref": "#/components/schemas/Domain"}},
    "claims": {"type": "array", "items": {"$ref": "#/components/schemas/DomainClaim"}},
    "record": {"type": "object", "required": ["name", "type", "text"], "properties": {
      "name": {"type": "string", "description": "With DOMAIN for the domain"}, "type": {"type": "string", "enum": ["TXT"]},
      "text": {"type": "string"}}}}},
  "Index": {"type": "object", "required": ["kubes"], "properties": {
    "kubes": {"type": "array", "items": {"type": "object",
      "required": ["name", "version", "digest", "k3", "yanked"], "properties": {
      "name": {"type": "string"}, "version": {"type": "string"}, "digest": {"type": "string"},
      "k3": {"type": "string", "description": "The text of K3.yaml, or made of what a module says of itself"}, "yanked": {"type": "boolean"},
      "yankReason": {"type": ["string", "null"], "description": "null: it isn't yanked; empty: no reason was given"}}}}}}
})";

Value json_content(std::string_view schema) {
  return Value::object(
      {{"application/json",
        Value::object({{"schema", Value::object({{"$ref", Value(fmt::format("#/components/schemas/{}",
                                                                            schema))}})}})}});
}

Value parameter(std::string_view name, std::string_view in, std::string_view type, bool required) {
  return Value::object({{"name", Value(name)},
                        {"in", Value(in)},
                        {"required", Value(required)},
                        {"schema", Value::object({{"type", Value(type)}})}});
}

Value parameters_of(const Endpoint& endpoint) {
  Value list{Value::Array{}};
  std::string_view rest = endpoint.path;
  for (auto open = rest.find('{'); open != rest.npos; open = rest.find('{')) {
    const auto close = rest.find('}');
    list.push_back(parameter(rest.substr(open + 1, close - open - 1), "path", "string", true));
    rest.remove_prefix(close + 1);
  }
  if (endpoint.operation == Operation::Search)
    for (const std::string_view name : {"q", "format", "state"})
      list.push_back(parameter(name, "query", "string", false));
  if (endpoint.operation == Operation::AuditLog)
    for (const std::string_view name : {"who", "what", "subject"})
      list.push_back(parameter(name, "query", "string", false));
  if (endpoint.operation == Operation::ShowChanges)
    list.push_back(parameter("from", "query", "string", false));
  if (endpoint.paged) {
    list.push_back(parameter("limit", "query", "integer", false));
    list.push_back(parameter("after", "query", "string", false));
  }
  return list;
}

Value operation_of(const Endpoint& endpoint) {
  Value answer = Value::object({{"description", Value(endpoint.summary)}});
  if (!endpoint.schema.empty()) answer.set("content", json_content(endpoint.schema));
  Value failed = Value::object(
      {{"description", Value("It failed; the answer says why")}, {"content", json_content("Error")}});
  Value operation =
      Value::object({{"summary", Value(endpoint.summary)}, {"parameters", parameters_of(endpoint)}});
  if (!endpoint.request.empty())
    operation.set("requestBody",
                  Value::object({{"required", Value(true)}, {"content", json_content(endpoint.request)}}));
  Value responses = Value::object({{std::to_string(endpoint.status), std::move(answer)}});
  if (endpoint.operation == Operation::Preview)
    responses.set("202", Value::object({{"description", Value("It isn't ready yet: ask again")},
                                        {"content", json_content(endpoint.schema)}}));
  responses.set("default", std::move(failed));
  operation.set("responses", std::move(responses));
  if (endpoint.scope) operation.set("x-scope", Value(Scopes{*endpoint.scope}.names().front()));
  // An empty requirement: it works without, too.
  if (endpoint.optional_token == OptionalToken::Heeded)
    operation.set("security",
                  Value::array({Value::object({{"token", Value{Value::Array{}}}}), Value(Value::Object{})}));
  if (endpoint.role)
    operation.set("security", Value::array({Value::object({{"token", Value{Value::Array{}}}})}));
  return operation;
}

std::string lower(std::string_view method) {
  std::string text(method);
  for (char& c : text) c = static_cast<char>(c | 0x20);
  return text;
}

}  // namespace

std::span<const Endpoint> endpoints() { return kEndpoints; }

Value openapi_document(const std::string& url) {
  Value paths = Value::object();
  for (const Endpoint& each : kEndpoints) paths[each.path].set(lower(each.method), operation_of(each));
  const auto schemas = encoding::parse_json(kSchemas);
  MIST_CHECK(schemas.ok());
  return Value::object(
      {{"openapi", Value("3.1.0")},
       {"info", Value::object({{"title", Value("Mistletoe catalog")}, {"version", Value("1")}})},
       {"servers", Value::array({Value::object({{"url", Value(url)}})})},
       {"paths", std::move(paths)},
       {"components",
        Value::object({{"schemas", *schemas},
                       {"securitySchemes",
                        Value::object({{"token", Value::object({{"type", Value("http")},
                                                                {"scheme", Value("bearer")}})}})}})}});
}

}  // namespace mist::catalog
