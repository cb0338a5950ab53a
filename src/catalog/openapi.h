#pragma once
// The table of the REST API's operations, and the OpenAPI 3.1 document that is made of it. Pure; any thread.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "catalog/model.h"
#include "catalog/token.h"
#include "encoding/value.h"

namespace mist::catalog {

enum class Operation : std::uint8_t {
  OpenApi,
  Index,
  Search,
  Versions,
  ShowVersion,
  ShowTest,
  ShowChanges,
  ShowDownloads,
  NoteInstall,
  TestAgain,
  Yank,
  Unyank,
  Blob,
  Preview,
  Module,
  AddProject,
  Projects,
  ShowProject,
  RemoveProject,
  PollProject,
  Webhook,
  Tokens,
  MakeToken,
  RevokeToken,
  AuditLog,
  Ratings,
  Rate,
  TakeBackRating,
  Comments,
  AddComment,
  ChangeComment,
  RemoveComment,
  ReportPackage,
  ReportComment,
  Reports,
  CloseReport,
  HideComment,
  ShowComment,
  HidePackage,
  UnhidePackage,
  HideVersion,
  UnhideVersion,
  Domains,
  ProveDomain,
  RemoveDomain,
  Reviews,
  ReviewVersion,
};

/// Of an operation that needs no token: whether the author of a version and moderators see it, with theirs,
/// before it is published.
enum class OptionalToken : bool { Ignored, Heeded };

struct Endpoint {
  Operation operation;
  std::string_view method;
  std::string_view path;     ///< "/api/v1/packages/{name}"
  std::optional<Role> role;  ///< whose token it needs at least; nullopt: none
  std::string_view summary;
  std::string_view schema;  ///< of the answer: a name in components, or empty
  int status = 200;
  bool paged = false;               ///< it takes `limit` and `after`
  std::optional<Scope> scope = {};  ///< that the token needs
  std::string_view request = {};    ///< schema of the body: a name in components, or empty
  OptionalToken optional_token = OptionalToken::Ignored;
};
std::span<const Endpoint> endpoints();

encoding::Value openapi_document(const std::string& url);

}  // namespace mist::catalog
