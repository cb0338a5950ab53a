#include "view/explain.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "view/style.h"

namespace mist::view {
namespace {

constexpr std::size_t kMostFields = 20;

Tone tone_of(std::string_view action) {
  if (action == "create" || action == "adopt") return Tone::Good;
  if (action == "delete" || action == "replace" || action == "conflict") return Tone::Bad;
  return Tone::Warning;
}

void explain_object(const PlanAnnounced::Object& object, bool color, std::string& out) {
  out += fmt::format("  {} {}", paint(color, tone_of(object.action), object.action),
                     escape_controls(object.object));
  if (!object.reason.empty()) out += ": " + escape_controls(object.reason);
  out += "\n";
  std::size_t shown = 0;
  for (const PlanAnnounced::Field& field : object.fields) {
    if (++shown > kMostFields) break;
    out += "    " + escape_controls(field.path);
    if (field.line != 0)
      out += paint(
          color, Tone::Faint,
          fmt::format("  ({})", escape_controls(place_text(field.file, field.line, 0, object.package))));
    out += "\n";
  }
  if (object.fields.size() > kMostFields)
    out += fmt::format("    and {}\n", plural(object.fields.size() - kMostFields, "more field"));
  for (const PlanAnnounced::Awaited& awaited : object.after) {
    out += "    after " + escape_controls(awaited.object);
    if (!awaited.reason.empty()) out += ": " + escape_controls(awaited.reason);
    out += "\n";
  }
  if (object.more_after > 0) out += fmt::format("    after {}\n", plural(object.more_after, "more object"));
}

}  // namespace

std::string explanation(const PlanAnnounced& plan, bool color) {
  std::string out =
      paint(color, Tone::Strong, "plan:") +
      fmt::format(" {} {}/{}", plan.operation, escape_controls(plan.ns), escape_controls(plan.release));
  if (plan.revision >= 0) out += fmt::format(", revision {}", plan.revision);
  out += "\n";
  std::size_t unchanged = 0;
  for (const PlanAnnounced::Object& object : plan.objects) {
    if (object.action == "unchanged")
      ++unchanged;
    else
      explain_object(object, color, out);
  }
  if (unchanged > 0)
    out += fmt::format("  {}: {}\n", paint(color, Tone::Faint, "unchanged"), plural(unchanged, "object"));
  return out;
}

}  // namespace mist::view
