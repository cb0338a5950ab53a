#include "view/diagnosis_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "view/style.h"
#include "view/values.h"

namespace mist::view {
namespace {

using encoding::Value;

// A message of a webhook may be a page.
constexpr std::size_t kLongestText = 1000;

// One line: whatever a cluster says must not draw outside of its place.
std::string one_line(std::string_view text) {
  std::string flat(trim(text));
  for (char& c : flat)
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  if (flat.size() > kLongestText) {
    std::size_t end = kLongestText;
    while (end > 0 && (static_cast<unsigned char>(flat[end]) & 0xc0) == 0x80) --end;
    flat = flat.substr(0, end) + "…";
  }
  return escape_controls(flat);
}

// The words of all states of a tree: an event that only repeats one isn't worth a line.
class Said {
 public:
  explicit Said(const Diagnosis& root) { add(root); }

  bool repeats(const Diagnosis::Event& event) const {
    constexpr std::string_view kBackOff = "BackOff";
    const std::string message = one_line(event.message);
    return std::ranges::any_of(nodes_, [&](const Diagnosis* node) {
      // The kubelet's own events of a container that it starts again and again: "Back-off restarting failed
      // container main in pod …", "Error: ImagePullBackOff".
      if (!node->reason.empty() && message == "Error: " + node->reason) return true;
      if (event.reason == kBackOff && node->state.find(kBackOff) != std::string::npos) return true;
      return !message.empty() && one_line(node->state).find(message) != std::string::npos;
    });
  }

 private:
  void add(const Diagnosis& node) {
    nodes_.push_back(&node);
    for (const Diagnosis& child : node.children) add(child);
  }

  std::vector<const Diagnosis*> nodes_;
};

class Tree {
 public:
  Tree(const Diagnosis& root, bool color, std::string_view hint) : said_(root), color_(color), hint_(hint) {}

  void draw(const Diagnosis& node, const std::string& before, const std::string& below) {
    std::string head = fmt::format("{} {}", node.kind, paint(color_, Tone::Name, one_line(node.name)));
    if (is_object(node) && !drawn_.emplace(node.kind, node.name).second) {
      lines_.push_back(before + head + ": see above");
      return;
    }
    if (!node.state.empty()) head += ": " + one_line(node.state);
    lines_.push_back(before + head);
    const std::string detail = below + (node.children.empty() ? "" : "│  ");
    for (const Diagnosis::Event& event : node.events) {
      if (said_.repeats(event)) continue;
      const std::string times = event.count > 1 ? fmt::format(" ({} times)", event.count) : "";
      lines_.push_back(
          fmt::format("{}{} {}{}: {}", detail, paint(color_, Tone::Faint, "event"),
                      paint(color_, event.warning ? Tone::Warning : Tone::Plain, one_line(event.reason)),
                      times, one_line(event.message)));
    }
    const std::string_view label = node.log_is_previous ? "last log │" : "log │";
    for (const std::string& line : node.log)
      lines_.push_back(
          fmt::format("{}{} {}", detail, paint(color_, Tone::Faint, label), escape_controls(line)));
    for (const std::string& note : node.notes)
      lines_.push_back(fmt::format("{}{}", detail, paint(color_, Tone::Faint, "(" + one_line(note) + ")")));
    if (!node.remedy.empty() && hint_.find(node.remedy) == std::string_view::npos)
      lines_.push_back(
          fmt::format("{}{} {}", detail, paint(color_, Tone::Good, "try:"), one_line(node.remedy)));
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const bool last = i + 1 == node.children.size();
      draw(node.children[i], below + (last ? "└─ " : "├─ "), below + (last ? "   " : "│  "));
    }
  }

  std::vector<std::string> take() { return std::move(lines_); }

 private:
  // And no container, of which many Pods have one of the same name.
  static bool is_object(const Diagnosis& node) {
    return !node.kind.empty() && node.kind.front() >= 'A' && node.kind.front() <= 'Z';
  }

  std::set<std::pair<std::string, std::string>> drawn_;
  const Said said_;
  const bool color_;
  const std::string_view hint_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> diagnosis_lines(const Diagnosis& diagnosis, bool color, std::string_view hint) {
  Tree tree(diagnosis, color, hint);
  tree.draw(diagnosis, "", "");
  return tree.take();
}

Value diagnosis_to_value(const Diagnosis& node) {
  Value::Array events, log, notes, children;
  for (const Diagnosis::Event& event : node.events)
    events.push_back(Value::object({{"type", event.warning ? "Warning" : "Normal"},
                                    {"reason", event.reason},
                                    {"message", event.message},
                                    {"count", event.count}}));
  for (const std::string& line : node.log) log.push_back(Value::object({{"text", line}}));
  for (const std::string& note : node.notes) notes.push_back(Value::object({{"text", note}}));
  for (const Diagnosis& child : node.children) children.push_back(diagnosis_to_value(child));
  return Value::object({{"kind", node.kind},
                        {"name", node.name},
                        {"state", text_or_null(node.state)},
                        {"reason", text_or_null(node.reason)},
                        {"exitCode", node.exit_code ? Value(*node.exit_code) : Value()},
                        {"events", Value(std::move(events))},
                        {"log", Value(std::move(log))},
                        {"logIsPrevious", node.log_is_previous},
                        {"notes", Value(std::move(notes))},
                        {"remedy", text_or_null(node.remedy)},
                        {"children", Value(std::move(children))}});
}

}  // namespace mist::view
