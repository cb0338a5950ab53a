#include "catalog/graph_picture.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr std::size_t kMostListed = 300;
constexpr std::size_t kMostDrawn = 60;
constexpr std::size_t kMostArrows = 200;
constexpr std::size_t kMostReasons = 8;
constexpr std::size_t kLongestLabel = 21;  // characters that a box has room for

constexpr std::size_t kBoxWidth = 190, kBoxHeight = 44, kColumn = 250, kRow = 58, kMargin = 8;

struct Box {
  bool is_object = true;  // false: "everything else"
  bool is_outside = false;
  std::int64_t step = 1;
  std::string kind = {}, name = {};
  std::vector<std::string> reasons = {};  // "ConfigMap settings (a volume of its pods)"
  std::vector<std::size_t> before = {};   // boxes that an arrow comes from
  std::vector<std::string> why = {};      // of each of them
  std::size_t column = 0, row = 0;

  std::string label() const { return is_object ? fmt::format("{} {}", kind, name) : "everything else"; }
};

std::vector<Box> boxes_of(const Value& graph) {
  std::vector<Box> boxes;
  const Value* const nodes = graph.find("nodes");
  if (nodes == nullptr || !nodes->is_array()) return boxes;
  for (const Value& node : nodes->as_array()) {
    if (boxes.size() == kMostListed) break;
    Box box{.is_object = node.string_at("role") != "barrier",
            .is_outside = node.string_at("role") == "outside",
            .step = node.int_at("step", 1),
            .kind = std::string(node.string_at("kind")),
            .name = std::string(node.string_at("name"))};
    if (const std::string_view ns = node.string_at("namespace");
        !ns.empty() && ns != graph.string_at("namespace"))
      box.name = fmt::format("{}/{}", ns, box.name);
    boxes.push_back(std::move(box));
  }
  return boxes;
}

void add_arrows(const Value& graph, std::vector<Box>& boxes) {
  const Value* const edges = graph.find("edges");
  if (edges == nullptr || !edges->is_array()) return;
  for (const Value& edge : edges->as_array()) {
    const auto before = static_cast<std::size_t>(edge.int_at("before", -1));
    const auto after = static_cast<std::size_t>(edge.int_at("after", -1));
    if (before >= boxes.size() || after >= boxes.size() || before == after || edge.is_true_at("implied"))
      continue;
    Box& box = boxes[after];
    if (!box.is_object || box.reasons.size() == kMostReasons) continue;
    const std::string reason(edge.string_at("reason"));
    box.reasons.push_back(fmt::format("{} ({})", boxes[before].label(), reason));
    if (!boxes[before].is_object) continue;
    box.before.push_back(before);
    box.why.push_back(reason);
  }
}

// The objects of each step, in the order of the steps.
using Columns = std::vector<std::vector<std::size_t>>;
Columns columns_of(std::vector<Box>& boxes) {
  std::map<std::int64_t, std::vector<std::size_t>> steps;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (boxes[i].is_object) steps[boxes[i].step].push_back(i);
  Columns columns;
  for (auto& [step, members] : steps) {
    // Near to what they come after, so that fewer arrows cross.
    const auto place = [&](std::size_t i) {
      std::size_t sum = 0, count = 0;
      for (const std::size_t before : boxes[i].before) {
        if (boxes[before].step >= step) continue;
        sum += boxes[before].row;
        ++count;
      }
      return count == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(count);
    };
    std::ranges::stable_sort(members, {}, place);
    for (std::size_t row = 0; row < members.size(); ++row) {
      boxes[members[row]].column = columns.size();
      boxes[members[row]].row = row;
    }
    columns.push_back(std::move(members));
  }
  return columns;
}

// Cut where the box ends; never within a character.
std::string fitting(std::string_view text) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (begins && ++characters > kLongestLabel) return std::string(text.substr(0, i)) + "…";
  }
  return std::string(text);
}

std::size_t left_of(const Box& box) { return kMargin + box.column * kColumn; }
std::size_t top_of(const Box& box) { return kMargin + box.row * kRow; }

Markup box_markup(const Box& box) {
  const std::size_t left = left_of(box), top = top_of(box);
  return markup(
      "<g class=\"node{}\"><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\"/>"
      "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><text class=\"kind\" y=\"17\">{}</text><text "
      "y=\"35\">{}</text></svg></g>\n",
      box.is_outside ? markup(" outside") : Markup(), box.label(), left, top, kBoxWidth, kBoxHeight,
      left + 10, top, kBoxWidth - 14, kBoxHeight, fitting(box.kind), fitting(box.name));
}

// From box to box in the free space between them: what leads further than to the next column runs below the
// row that it begins in, where no box is.
Markup arrow_path(const Box& before, const Box& after) {
  constexpr std::size_t kGap = kColumn - kBoxWidth;
  const std::size_t x1 = left_of(before) + kBoxWidth, y1 = top_of(before) + kBoxHeight / 2;
  const std::size_t x2 = left_of(after) - 3, y2 = top_of(after) + kBoxHeight / 2;
  if (after.column == before.column + 1)
    return markup("M{} {}C{} {} {} {} {} {}", x1, y1, x1 + 35, y1, x2 - 35, y2, x2, y2);
  const std::size_t below = top_of(before) + (kBoxHeight + kRow) / 2;
  const std::size_t begin = x1 + kGap, end = left_of(after) - kGap;
  return markup("M{} {}C{} {} {} {} {} {}L{} {}C{} {} {} {} {} {}", x1, y1, x1 + 30, y1, x1 + 20, below,
                begin, below, end, below, end + 35, below, end + 25, y2, x2, y2);
}

Markup arrows_markup(const std::vector<Box>& boxes) {
  Markup arrows;
  std::size_t drawn = 0;
  for (const Box& box : boxes) {
    for (std::size_t i = 0; i < box.before.size(); ++i) {
      const Box& before = boxes[box.before[i]];
      if (before.column >= box.column || drawn++ >= kMostArrows) continue;
      arrows += markup(
          "<path class=\"edge\" marker-end=\"url(#arrow)\" d=\"{}\"><title>{} before {}: {}</title></path>\n",
          arrow_path(before, box), before.label(), box.label(), box.why[i]);
    }
  }
  return arrows;
}

Markup graph_image(const std::vector<Box>& boxes, const Columns& columns, std::size_t objects) {
  std::size_t rows = 0;
  for (const auto& column : columns) rows = std::max(rows, column.size());
  const std::size_t width = 2 * kMargin + (columns.size() - 1) * kColumn + kBoxWidth;
  const std::size_t height = 2 * kMargin + (rows - 1) * kRow + kBoxHeight;
  Markup inner = arrows_markup(boxes);
  for (const Box& box : boxes)
    if (box.is_object) inner += box_markup(box);
  return markup(
      "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"Picture of the objects\">"
      "<svg class=\"graph\" role=\"img\" aria-labelledby=\"graph-title\" aria-describedby=\"graph-desc\" "
      "viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\">\n<title id=\"graph-title\">Objects and their "
      "order</title>"
      "<desc id=\"graph-desc\">{} in {}, from left to right; an arrow leads from what must be there first. "
      "The "
      "list below says the same.</desc>\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" "
      "refY=\"4\" "
      "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n{}"
      "</svg></div>\n",
      width, height, width, height, plural(objects, "object"), plural(columns.size(), "step"), inner);
}

Markup graph_list(const std::vector<Box>& boxes, const Columns& columns) {
  Markup steps;
  for (const auto& column : columns) {
    Markup items;
    for (const std::size_t i : column) {
      const Box& box = boxes[i];
      items += markup("<li>{}{}{}</li>\n", box.label(), box.is_outside ? " (of somebody else)" : "",
                      box.reasons.empty() ? std::string() : ", after " + join(box.reasons, "; "));
    }
    steps += markup("<li><ul>\n{}</ul></li>\n", items);
  }
  return markup("<ol>\n{}</ol>\n", steps);
}

}  // namespace

Markup graph_picture(const Value& graph) {
  const auto objects = static_cast<std::size_t>(std::max<std::int64_t>(graph.int_at("objects"), 0));
  if (objects == 0) return {};
  Markup out = markup("<h2 id=\"objects\">Objects</h2>\n");
  std::vector<Box> boxes = boxes_of(graph);
  add_arrows(graph, boxes);
  const Columns columns = columns_of(boxes);
  if (columns.empty()) {
    out += markup("<p>It has {}: too many for a picture. <code>{}</code> shows them.</p>\n",
                  plural(objects, "object"), "mistctl graph");
    return out;
  }
  out += markup("<p>{}, with the default values. Those in one {} can be written at the same time.</p>\n",
                plural(objects, "object"), boxes.size() <= kMostDrawn ? "column" : "step");
  if (boxes.size() > kMostDrawn) {
    out += graph_list(boxes, columns);
    return out;
  }
  out += graph_image(boxes, columns, objects);
  out += markup("<details><summary>The same as a list, with reasons</summary>\n{}</details>\n",
                graph_list(boxes, columns));
  return out;
}

}  // namespace mist::catalog
