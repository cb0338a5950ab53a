#include "catalog/json_views.h"

#include "base/clock.h"

namespace mist::catalog {
namespace {

using encoding::Value;

Value text_or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value strings(const std::vector<std::string>& list) {
  Value value{Value::Array{}};
  for (const std::string& each : list) value.push_back(Value(each));
  return value;
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
                        {"problem", text_or_null(project.problem)}});
}

Value to_value(const Version& version) {
  const PackageFacts& facts = version.facts;
  Value needs{Value::Array{}};
  for (const PackageFacts::Dependency& each : facts.dependencies)
    needs.push_back(Value::object({{"name", Value(each.name)}, {"version", Value(each.range)}}));
  return Value::object({{"package", Value(version.package)},
                        {"version", Value(version.version)},
                        {"tag", Value(version.tag)},
                        {"commit", Value(version.commit)},
                        {"digest", text_or_null(version.digest)},
                        {"state", Value(to_string(version.state))},
                        {"yanked", version.yanked ? Value(*version.yanked) : Value()},
                        {"created", Value(format_time(version.created))},
                        {"format", text_or_null(facts.format)},
                        {"description", Value(facts.description)},
                        {"home", text_or_null(facts.home)},
                        {"details", Value(facts.details)},
                        {"maintainers", strings(facts.maintainers)},
                        {"dependencies", std::move(needs)},
                        {"inputs", facts.inputs},
                        {"files", strings(facts.files)},
                        {"readme", Value(version.readme)}});
}

Value to_value(const Listed& listed) {
  return Value::object({{"package", Value(listed.package)},
                        {"version", Value(listed.version)},
                        {"description", Value(listed.description)},
                        {"state", Value(to_string(listed.state))},
                        {"created", Value(format_time(listed.created))}});
}

Value to_value(const AuditEntry& entry) {
  return Value::object({{"time", Value(format_time(entry.when))},
                        {"who", Value(entry.who)},
                        {"what", Value(entry.what)},
                        {"subject", Value(entry.subject)},
                        {"peer", text_or_null(entry.peer)}});
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
                        {"nodes", text_or_null(run.nodes)},
                        {"steps", std::move(steps)},
                        {"objects", run.objects}});
}

}  // namespace mist::catalog
