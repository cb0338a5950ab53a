#include "package/input.h"

#include "abi/abi.h"
#include "base/text.h"
#include "encoding/json.h"
#include "encoding/member_finder.h"
#include "encoding/schema.h"
#include "encoding/schema_place.h"
#include "package/calls.h"
#include "package/pre_install.h"

namespace mist::package {
namespace {

bool declares(const Value& schema, std::string_view property) {
  return schema.at_path({"properties", property}) != nullptr;
}

// Null takes a value back, as for every other key.
bool gives(const Value& values, std::string_view key) {
  const Value* const given = values.find(key);
  return given != nullptr && !given->is_null();
}

// Without what `other` has too: where it has an object, only that object's keys go.
void remove_keys_of(const Value& other, Value& value) {
  const encoding::MemberFinder others(&other);
  std::erase_if(value.as_object(), [&](Value::Member& mine) {
    const Value* const theirs = others.find(mine.key);
    if (theirs == nullptr) return false;
    if (!mine.value.is_object() || !theirs->is_object()) return true;
    remove_keys_of(*theirs, mine.value);
    return false;
  });
}

// The release. Only packages that ask for it see members that change from one revision to the next.
Value release_value(const Metadata& metadata, const RenderRequest& request, std::string_view name) {
  Value release = Value::object({{"name", name}, {"namespace", request.release_namespace}});
  if (metadata.needs_release) {
    release.set("revision", request.revision);
    release.set("isUpgrade", request.is_upgrade);
  }
  return release;
}

Value capabilities_value(const Capabilities& capabilities) {
  return Value::object({{"kubeVersion", capabilities.kube_version},
                        {"apiVersions", Value(Value::Array(capabilities.api_versions.begin(),
                                                           capabilities.api_versions.end()))}});
}

// The schema's defaults, over them the package's own, over these the user's values.
Value merged_data(const Metadata& metadata, const RenderRequest& request) {
  Value data = metadata.inputs.is_object() ? encoding::schema_defaults(metadata.inputs) : Value::object();
  if (metadata.defaults.is_object()) encoding::merge_into(data, metadata.defaults);
  encoding::merge_into(data, request.user_values);
  return data;
}

// Merging gives no default to an object that the schema alone doesn't make: one that needs a value of the
// user, a list's item, a map's entry.
Status fill_objects(const Metadata& metadata, const RenderRequest& request, Value& data) {
  if (!metadata.inputs.is_object()) return {};
  Value given = metadata.defaults.is_object() ? metadata.defaults : Value::object();
  encoding::merge_keeping_nulls(given, request.user_values);
  return encoding::fill_schema_defaults(metadata.inputs, data, given);
}

// The members of `after` that `before` lacks, at every depth; a list that differs is one as a whole.
Value members_beyond(const Value& before, const Value& after) {
  Value beyond = Value::object();
  const encoding::MemberFinder known(&before);
  for (const Value::Member& member : after.as_object()) {
    const Value* const was = known.find(member.key);
    if (was != nullptr && *was == member.value) continue;
    Value::Member& added = beyond.as_object().emplace_back();
    added.key = member.key;
    const bool objects = was != nullptr && was->is_object() && member.value.is_object();
    added.value = objects ? members_beyond(*was, member.value) : member.value;
  }
  return beyond;
}

// The data of a render, but for its name where the user didn't give it.
Result<Value> data_without_name(const Metadata& metadata, const RenderRequest& request) {
  const std::string_view install = install_name(request);
  if (const Value* name = request.user_values.find("name"); name != nullptr && *name != Value(install)) {
    Error failure = error(ErrorKind::Invalid,
                          "the values set name, but that is always the release's name, \"{}\"", install);
    failure.hint = "remove name from the values";
    return failure;
  }
  Value data = merged_data(metadata, request);
  MIST_TRY_VOID(fill_objects(metadata, request, data));
  if (metadata.inputs.is_object() && declares(metadata.inputs, "namespace") &&
      !gives(request.user_values, "namespace"))
    data.set("namespace", request.release_namespace);
  return data;
}

Value document_of(std::string_view version, Value data) {
  return Value::object({{"apiVersion", version}, {"kind", "MistInput"}, {"data", std::move(data)}});
}

}  // namespace

Result<std::string> package_input(std::string_view version, const Metadata& metadata,
                                  const RenderRequest& request) {
  MIST_TRY(Value data, input_data(metadata, request));
  Value document = document_of(version, std::move(data));
  if (version != abi::kVersion1Alpha1) {
    document.set("release", release_value(metadata, request, request.release_name));
    MIST_TRY(const Capabilities capabilities, request.capabilities());
    document.set("capabilities", capabilities_value(capabilities));
  }
  return abi::input_text(document, encoding::JsonStyle::Compact);
}

Result<std::string> engine_input(const EngineKind& engine, const Metadata& metadata,
                                 const RenderRequest& request) {
  Value data = request.user_values;
  if (engine.values == EngineValues::Input) {
    MIST_TRY(const Value complete, input_data(metadata, request));
    data = engine_data(metadata, request, complete);
  }
  Value document = document_of(abi::kVersion1, std::move(data));
  // A called chart is a release of its own to itself: its objects are named after .Release.Name.
  const bool chart = engine.values == EngineValues::Chart;
  Value release = release_value(metadata, request,
                                chart ? install_name(request) : std::string_view(request.release_name));
  // Helm counts revisions from 1.
  if (chart && release.find("revision") != nullptr) release.set("revision", request.revision + 1);
  document.set("release", std::move(release));
  MIST_TRY(const Capabilities capabilities, request.capabilities());
  if (!capabilities.assumed) {
    Value known = capabilities_value(capabilities);
    // As Helm's GetVersionSet has them: `.Capabilities.APIVersions.Has "batch/v1/CronJob"`.
    if (chart) {
      for (const std::string& kind : capabilities.kinds) known["apiVersions"].push_back(kind);
    }
    document.set("capabilities", std::move(known));
  }
  document.set("engine", Value::object({{"name", engine.name}, {"options", request.engine_options}}));
  return abi::input_text(document, encoding::JsonStyle::Exact);
}

Value engine_data(const Metadata& metadata, const RenderRequest& request, const Value& complete) {
  Value data = metadata.inputs.is_object() ? encoding::schema_defaults(metadata.inputs) : Value::object();
  if (metadata.defaults.is_object()) remove_keys_of(metadata.defaults, data);
  encoding::merge_keeping_nulls(data, request.user_values);
  // The host decides these.
  for (const std::string_view key : {"name", "namespace"}) {
    if (const Value* const value = complete.find(key)) data.set(key, *value);
  }
  // The engine can't know the schema's defaults that came into objects of the user, or of its own defaults.
  encoding::merge_keeping_nulls(data, members_beyond(merged_data(metadata, request), complete));
  return data;
}

std::string issue_text(std::string_view part, const encoding::SchemaIssue& issue) {
  return fmt::format("{}{}{}", part, issue.instance_path.empty() ? ": " : ".", issue.message);
}

Result<Value> input_data(const Metadata& metadata, const RenderRequest& request) {
  MIST_TRY(Value data, data_without_name(metadata, request));
  data.set("name", install_name(request));
  return data;
}

Status check_input(const Metadata& metadata, const RenderRequest& request) {
  if (metadata.inputs.is_null()) return {};
  MIST_TRY(Value data, data_without_name(metadata, request));
  // The name is always given, whether or not the author thought of it.
  if (declares(metadata.inputs, "name")) data.set("name", install_name(request));
  MIST_TRY(const encoding::Schema schema,
           encoding::Schema::compile(metadata.inputs)
               .in(fmt::format("while reading the input schema of package {}", metadata.name)));
  const std::vector<encoding::SchemaIssue> issues = schema.validate(data);
  if (issues.empty()) return {};
  std::vector<std::string> lines;
  // Of a called package it is its caller who reads this, as one sentence behind the path to it.
  if (request.called) {
    for (const encoding::SchemaIssue& issue : issues) lines.push_back(issue_text("inputs", issue));
    return error(ErrorKind::Invalid, "{}", join(lines, "; "));
  }
  for (const encoding::SchemaIssue& issue : issues) lines.push_back(issue.message);
  Error failure = error(ErrorKind::Invalid, "the values don't fit the package {}", metadata.name);
  failure.because = join(lines, "\n");
  return std::move(failure).with_detail(encoding::faults_of(issues));
}

Status check_engine_input(const EngineKind& engine, const Metadata& metadata, const RenderRequest& request) {
  if (engine.values != EngineValues::Input) return {};
  if (!request.interactive) return check_input(metadata, request);
  RenderRequest answered = request;
  answered.user_values = without_taken_defaults(std::move(answered.user_values));
  return check_input(metadata, answered);
}

Status check_exports(const Metadata& metadata, const Value& exports) {
  if (metadata.exports.is_null()) return {};
  MIST_TRY(const encoding::Schema schema,
           encoding::Schema::compile(metadata.exports)
               .in(fmt::format("while reading the schema of the exports of {}", metadata.name)));
  std::vector<std::string> lines;
  for (const encoding::SchemaIssue& issue : schema.validate(exports))
    lines.push_back(issue_text("exports", issue));
  if (lines.empty()) return {};
  return error(ErrorKind::Invalid, "the exports of {} don't fit its own schema", metadata.name)
      .with_because(join(lines, "\n"));
}

}  // namespace mist::package
