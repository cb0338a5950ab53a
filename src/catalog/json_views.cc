#include "catalog/json_views.h"

#include <map>

#include "base/clock.h"
#include "base/text.h"
#include "catalog/downloads.h"
#include "package/secrets.h"

namespace mist::catalog {
namespace {

using encoding::Value;

Value text_or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value strings(const std::vector<std::string>& list) {
  Value value{Value::Array{}};
  for (const std::string& each : list) value.push_back(Value(each));
  return value;
}

Value hidden_value(const VersionBrief& version) {
  return Value::object({{"package", Value(version.package)},
                        {"version", Value(version.version)},
                        {"state", Value(to_string(version.state))},
                        {"hidden", Value(*version.hidden)},
                        {"created", Value(format_time(version.created))}});
}

// Of one that isn't hidden; the downloads come last in what it begins.
Value brief_value(const VersionBrief& version) {
  return Value::object(
      {{"package", Value(version.package)},
       {"version", Value(version.version)},
       {"tag", Value(version.tag)},
       {"commit", Value(version.commit)},
       {"digest", text_or_null(version.digest)},
       {"state", Value(to_string(version.state))},
       {"newTest", version.new_test ? Value(to_string(*version.new_test)) : Value()},
       {"yanked", version.yanked ? Value(*version.yanked) : Value()},
       {"yankedBy",
        version.yanked ? Value(version.is_yanked_by_moderator ? "moderator" : "author") : Value()},
       {"hidden", Value()},
       {"created", Value(format_time(version.created))}});
}

}  // namespace

Value to_value(const Error& failure) {
  return Value::object({{"error", Value::object({{"kind", Value(to_string(failure.kind))},
                                                 {"message", Value(failure.message)},
                                                 {"because", text_or_null(failure.because)},
                                                 {"hint", text_or_null(failure.hint)}})}});
}

Value to_value(const Project& project) {
  return Value::object({{"name", Value(project.name)},
                        {"owner", Value(project.owner)},
                        {"url", Value(project.url)},
                        {"path", Value(project.path)},
                        {"created", Value(format_time(project.created))},
                        {"polled", project.polled ? Value(format_time(*project.polled)) : Value()},
                        {"problem", text_or_null(project.problem)},
                        {"hidden", project.hidden ? Value(*project.hidden) : Value()}});
}

Value to_value(const ReviewedVersion& reviewed) {
  const VersionBrief& version = reviewed.version;
  return Value::object({{"package", Value(version.package)},
                        {"version", Value(version.version)},
                        {"owner", Value(reviewed.owner)},
                        {"commit", Value(version.commit)},
                        {"digest", text_or_null(version.digest)},
                        {"state", Value(to_string(version.state))},
                        {"review", Value(to_string(version.review))},
                        {"reason", text_or_null(version.rejected_because)},
                        {"created", Value(format_time(version.created))}});
}

Value to_value(const VersionBrief& version) {
  if (version.hidden) return hidden_value(version);
  Value made = brief_value(version);
  made.set("downloads", Value(version.downloads));
  return made;
}

Value to_value(const Version& version) {
  if (version.hidden) return hidden_value(version);
  const PackageFacts& facts = version.facts;
  Value needs{Value::Array{}};
  for (const PackageFacts::Dependency& each : facts.dependencies)
    needs.push_back(Value::object({{"name", Value(each.name)}, {"version", Value(each.range)}}));
  Value made = brief_value(version);
  made.set("format", text_or_null(facts.format));
  made.set("description", Value(facts.description));
  made.set("home", text_or_null(facts.home));
  made.set("details", Value(facts.details));
  made.set("maintainers", strings(facts.maintainers));
  made.set("dependencies", std::move(needs));
  made.set("inputs", facts.inputs);
  made.set("files", strings(facts.files));
  made.set("module", text_or_null(facts.module));
  made.set("readme", Value(version.readme));
  made.set("downloads", Value(version.downloads));
  return made;
}

Value to_value(const std::vector<VersionBrief>& versions, const std::vector<DownloadsOfDay>& recent,
               const Store::Installs& installs) {
  std::int64_t total = 0;
  std::int64_t sum = 0;
  std::map<std::string, std::int64_t> by_version;
  Value days{Value::Array{}};
  for (const DownloadsOfDay& each : recent) {
    sum += each.count;
    by_version[each.version] += each.count;
    days.push_back(Value::object({{"day", Value(day_text(each.day))},
                                  {"version", Value(each.version)},
                                  {"count", Value(each.count)}}));
  }
  Value items{Value::Array{}};
  for (const VersionBrief& each : versions) {
    total += each.downloads;
    items.push_back(Value::object({{"version", Value(each.version)},
                                   {"total", Value(each.downloads)},
                                   {"last30Days", Value(by_version[each.version])}}));
  }
  return Value::object({{"total", Value(total)},
                        {"last30Days", Value(sum)},
                        {"installs", Value::object({{"total", Value(installs.total)},
                                                    {"last30Days", Value(installs.recent)}})},
                        {"versions", std::move(items)},
                        {"days", std::move(days)}});
}

Value to_value(const Listed& listed) {
  return Value::object({{"package", Value(listed.package)},
                        {"version", Value(listed.version)},
                        {"description", Value(listed.description)},
                        {"state", Value(to_string(listed.state))},
                        {"created", Value(format_time(listed.created))}});
}

Value to_value(const TokenFacts& token) {
  const auto time = [](const std::optional<WallTime>& when) {
    return when ? Value(format_time(*when)) : Value();
  };
  Value scopes{Value::Array{}};
  for (const std::string_view each : split(token.scopes, ' '))
    if (!each.empty()) scopes.push_back(Value(each));
  return Value::object({{"id", Value(token.id)},
                        {"label", Value(token.label)},
                        {"scopes", std::move(scopes)},
                        {"created", Value(format_time(token.created))},
                        {"used", time(token.used)},
                        {"expires", time(token.expires)}});
}

Value to_value(const AuditEntry& entry) {
  return Value::object({{"time", Value(format_time(entry.when))},
                        {"who", Value(entry.who)},
                        {"what", Value(entry.what)},
                        {"subject", Value(entry.subject)},
                        {"peer", text_or_null(entry.peer)}});
}

Value to_value(const Ratings& ratings) {
  Value counts{Value::Array{}};
  for (const std::int64_t each : ratings.counts) counts.push_back(Value(each));
  return Value::object(
      {{"count", Value(ratings.count())},
       {"average", ratings.count() == 0 ? Value() : Value(static_cast<double>(ratings.tenths()) / 10)},
       {"stars", std::move(counts)}});
}

Value to_value(const Comment& comment) {
  return Value::object({{"id", Value(comment.id)},
                        {"package", Value(comment.package)},
                        {"by", Value(comment.by)},
                        {"owner", Value(comment.by_owner)},
                        {"text", comment.hidden ? Value() : Value(comment.text)},
                        {"created", Value(format_time(comment.created))},
                        {"changed", comment.changed ? Value(format_time(*comment.changed)) : Value()},
                        {"hidden", comment.hidden ? Value(*comment.hidden) : Value()}});
}

Value to_value(const AbuseReport& report) {
  return Value::object({{"id", Value(report.id)},
                        {"package", Value(report.package)},
                        {"comment", report.comment == 0 ? Value() : Value(report.comment)},
                        {"quote", text_or_null(report.quote)},
                        {"quoted", text_or_null(report.quoted)},
                        {"by", Value(report.by)},
                        {"reason", Value(report.reason)},
                        {"created", Value(format_time(report.created))}});
}

Value to_value(const DomainClaim& claim) {
  return Value::object({{"domain", Value(claim.domain)},
                        {"asked", Value(format_time(claim.asked))},
                        {"problem", claim.is_open() ? Value() : Value(claim.problem)}});
}

Value to_value(const OwnDomain& domain) {
  return Value::object({{"domain", Value(domain.domain)},
                        {"proved", Value(format_time(domain.proved))},
                        {"checked", Value(format_time(domain.checked))},
                        {"failures", Value(domain.failures)},
                        {"lapsed", Value(domain.has_lapsed())}});
}

Value to_value(const Run& run) {
  Value steps{Value::Array{}};
  for (const Step& each : run.steps)
    steps.push_back(Value::object(
        {{"name", Value(each.name)},
         {"state", Value(to_string(each.state))},
         {"summary", Value(each.summary)},
         {"log", Value(each.log)},
         {"began", Value(format_time(each.began))},
         {"milliseconds",
          Value(std::chrono::duration_cast<std::chrono::milliseconds>(each.elapsed).count())}}));
  return Value::object({{"attempt", Value(run.attempt)},
                        {"nodes", run.nodes ? Value(to_string(*run.nodes)) : Value()},
                        {"steps", std::move(steps)},
                        {"objects", run.objects},
                        {"security", run.security}});
}

namespace {

std::string module_url(const ServedModule& module) { return "/api/v1/modules/" + module.digest; }

Value number(std::uint64_t value) { return Value(static_cast<std::int64_t>(value)); }

// Keys that stand for those of an installation, of the right form. Everybody may know them.
Value stand_in_keys() {
  Value keys = Value::object();
  for (const std::string_view kind : {"ed25519", "ecdsa"}) {
    const auto request = package::SecretRequest::parse(
        Value::object({{"op", "secret.get"}, {"name", "preview"}, {"kind", Value(kind)}}));
    MIST_CHECK(request.ok());
    const auto secret = package::derive_secret(
        {.seed = {}, .package = "preview", .install = "preview", .rotations = {}}, *request);
    MIST_CHECK(secret.ok());
    keys.set(kind, Value::object(
                       {{"value", Value(secret->value.reveal())}, {"publicKey", Value(secret->public_key)}}));
  }
  return keys;
}

}  // namespace

Value to_value(const PreviewPlan& plan) {
  static const Value keys = stand_in_keys();
  Value runs{Value::Array{}};
  std::uint64_t transfer = plan.module.transfer();
  bool has_engine = false;
  for (const PreviewRun& each : plan.runs) {
    if (!each.run.engine.empty()) transfer += each.engine.transfer();
    has_engine = has_engine || !each.run.engine.empty();
    runs.push_back(Value::object({{"engine", each.run.engine.empty() ? Value() : Value(each.run.engine)},
                                  {"url", Value(module_url(each.engine))},
                                  {"bytes", number(each.engine.bytes)},
                                  {"input", Value(each.run.input)},
                                  {"script", Value(each.run.is_script)}}));
  }
  const auto clock = std::chrono::duration_cast<std::chrono::nanoseconds>(plan.clock.time_since_epoch());
  return Value::object({{"state", Value("ready")},
                        {"name", Value(plan.name)},
                        {"module", Value::object({{"url", Value(module_url(plan.module))},
                                                  {"bytes", number(plan.module.bytes)},
                                                  {"files", Value(has_engine)}})},
                        {"runs", std::move(runs)},
                        {"clock", Value(std::to_string(clock.count()))},
                        {"seed", Value(std::string(64, '0'))},
                        {"keys", keys},
                        {"limits", Value::object({{"seconds", Value(std::int64_t{PreviewPlan::kSeconds})},
                                                  {"memoryBytes", number(Previews::kMemoryBytes)},
                                                  {"outputBytes", Value(PreviewPlan::kOutputBytes)},
                                                  {"requests", Value(std::int64_t{10'000})}})},
                        {"transfer", number(transfer)},
                        {"ofVersion", Value(plan.of_version)},
                        {"command", text_or_null(plan.command)}});
}

}  // namespace mist::catalog
