#include <algorithm>
#include <array>
#include <tuple>

#include "base/text.h"
#include "package/lint.h"
#include "wasm/instance.h"

namespace mist::package {
namespace {

constexpr std::array kRules{
    LintRule{"metadata", LintLevel::Error,
             "mistletoe.yaml, Chart.yaml or K3.yaml can't be read, or lacks what it needs"},
    LintRule{"no-metadata", LintLevel::Info, "nothing says its version and what it is"},
    LintRule{"version", LintLevel::Warning, "the version is missing or no SemVer"},
    LintRule{"description", LintLevel::Info, "the description is missing"},
    LintRule{"chart-icon", LintLevel::Info, "Chart.yaml has no icon"},
    LintRule{"dependency", LintLevel::Error, "a dependency of the chart isn't in charts/"},
    LintRule{"schema", LintLevel::Error, "the schema of the values is none"},
    LintRule{"defaults", LintLevel::Error, "the default values don't fit the schema"},
    LintRule{"key", LintLevel::Warning,
             "a key of the values or the metadata is there twice, or is a boolean in YAML"},
    LintRule{"undescribed", LintLevel::Warning, "a default value isn't in the schema"},
    LintRule{"no-schema", LintLevel::Info, "there are values, and no schema describes them"},
    LintRule{"unused-value", LintLevel::Info, "no template seems to use a default value"},
    LintRule{"unused-template", LintLevel::Info, "no template includes another one"},
    LintRule{"render", LintLevel::Error, "it doesn't render"},
    LintRule{"needs-values", LintLevel::Info, "it renders only with values of the user"},
    LintRule{"nothing", LintLevel::Warning, "it renders no object"},
    LintRule{"object", LintLevel::Error, "a rendered object can't be installed, or is there twice"},
    LintRule{
        "field", LintLevel::Error,
        "a field that its kind doesn't have, a required one that is missing, or a value of another type"},
    LintRule{"unknown-kind", LintLevel::Error, "Kubernetes has no such kind in that version"},
    LintRule{"removed-version", LintLevel::Error, "Kubernetes has that version of the kind no more"},
    LintRule{"deprecated-version", LintLevel::Warning, "Kubernetes will remove that version of the kind"},
    LintRule{"api-version", LintLevel::Warning, "Kubernetes doesn't serve that version by default"},
    LintRule{"unchecked", LintLevel::Info, "nothing here says which fields a kind has"},
    LintRule{"namespace", LintLevel::Info, "an object is in a fixed namespace, not the release's"},
    LintRule{"image-tag", LintLevel::Warning, "an image has no tag, or one that changes"},
    LintRule{"pod-security", LintLevel::Warning,
             "a workload's Pods need a namespace of the Pod Security level privileged"},
    LintRule{"hook", LintLevel::Error, "a hook annotation has a word that Helm doesn't know"},
    LintRule{"drawn", LintLevel::Info, "a field is drawn at random: it stays as long as the release"},
    LintRule{"clock", LintLevel::Info,
             "a field depends on the time: it stays at the release's first install"},
    LintRule{"case", LintLevel::Error, "a test case can't be read"},
    LintRule{"golden", LintLevel::Warning, "a golden file belongs to no test case"},
    LintRule{"untested", LintLevel::Info, "there are no test cases"},
};

}  // namespace

std::string_view to_string(LintLevel level) {
  switch (level) {
    case LintLevel::Error:
      return "error";
    case LintLevel::Warning:
      return "warning";
    case LintLevel::Info:
      return "info";
  }
  return "";
}

std::span<const LintRule> lint_rules() { return kRules; }

Finding finding(std::string_view rule, std::string file, std::uint32_t line, std::string message) {
  const auto* const known = std::ranges::find(kRules, rule, &LintRule::name);
  MIST_CHECK(known != kRules.end());
  return {known->name, known->level, std::move(file), line, std::move(message)};
}

namespace {

// Of a trap, which limit it was; its backtrace is for no finding.
std::string words_of_trap(const Error& failure) {
  const auto* const detail = failure.detail<wasm::WithoutBacktrace>();
  return detail == nullptr || detail->because.empty()
             ? failure.message
             : fmt::format("{}: {}", failure.message, detail->because);
}

}  // namespace

Finding finding_of(std::string_view rule, const Error& failure, std::string_view during) {
  // The innermost place, and the words of whoever found it: what is around them only names the package.
  const Error* inner = &failure;
  while (!inner->where && inner->cause) inner = inner->cause.get();
  const std::string& because = inner->because.empty() ? failure.because : inner->because;
  std::string message = because.empty() ? inner->message : because;
  if (failure.kind == ErrorKind::Trap) message = words_of_trap(failure);
  if (!during.empty()) message = fmt::format("{}: {}", during, message);
  if (!inner->where) return finding(rule, {}, 0, std::move(message));
  return finding(rule, inner->where->file, inner->where->line, std::move(message));
}

void sort_findings(std::vector<Finding>& findings) {
  const auto key = [](const Finding& each) {
    return std::tie(each.file, each.line, each.column, each.level, each.rule, each.message);
  };
  std::ranges::sort(findings, {}, key);
  const auto again = std::ranges::unique(findings);
  findings.erase(again.begin(), again.end());
}

}  // namespace mist::package
