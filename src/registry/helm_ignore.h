#pragma once
// The files that a chart's .helmignore leaves out, by Helm's rules (helm.sh/helm/v4/pkg/ignore). The engine
// applies it itself; here it keeps files that aren't the chart's out of its digest, and allows links there
// that lead out of the chart. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

namespace mist::registry {

class HelmIgnore {
 public:
  /// Leaves nothing out.
  HelmIgnore() = default;
  /// The rules of a .helmignore, and Helm's own. A file that Helm refuses leaves nothing out: the engine says
  /// why. So does one with more than 1000 rules, or longer ones than 256 bytes.
  static HelmIgnore parse(std::string_view text);

  /// `path` is relative to the chart, with slashes and without one at its end. Never of what mistctl itself
  /// reads: Chart.yaml, .helmignore, mistletoe.yaml and `tests`.
  bool leaves_out(std::string_view path, bool is_directory) const;

 private:
  struct Rule {
    std::string pattern;
    bool negated = false;
    bool only_directories = false;
    bool whole_path = false;  // else only the last part is compared
  };
  std::vector<Rule> rules_;
};

}  // namespace mist::registry
