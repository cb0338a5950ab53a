#include "kube/division.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/fnv.h"
#include "base/text.h"
#include "encoding/json.h"

namespace mist::kube {
namespace {

using encoding::Value;

std::optional<std::size_t> slot_in(std::string_view text) {
  std::size_t slot = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), slot);
  const bool is_one = failed == std::errc() && end == text.data() + text.size() && slot < kSlots;
  return is_one ? std::optional(slot) : std::nullopt;
}

// The `count` first of them, from the end if `last`.
Slots some_of(const Slots& slots, std::size_t count, bool last) {
  Slots some;
  for (std::size_t i = 0; i < kSlots && some.count() < count; ++i)
    if (const std::size_t slot = last ? kSlots - 1 - i : i; slots[slot]) some.set(slot);
  return some;
}

}  // namespace

std::size_t slot_of(std::string_view ns) { return fnv1a(ns) % kSlots; }

std::string to_text(const Slots& slots) {
  std::string text;
  for (std::size_t from = 0; from < kSlots; ++from) {
    if (!slots[from]) continue;
    std::size_t to = from;
    while (to + 1 < kSlots && slots[to + 1]) ++to;
    if (!text.empty()) text += ' ';
    text += from == to ? fmt::format("{}", from) : fmt::format("{}-{}", from, to);
    from = to;
  }
  return text;
}

Result<Slots> slots_in(std::string_view text) {
  Slots slots;
  for (const std::string_view range : split(text, ' ')) {
    if (range.empty()) continue;
    const auto dash = range.find('-');
    const auto from = slot_in(range.substr(0, dash));
    const auto to = dash == std::string_view::npos ? from : slot_in(range.substr(dash + 1));
    if (!from || !to || *from > *to)
      return error(ErrorKind::Invalid, "\"{}\" are no slots from 0 to {}", escape_controls(range),
                   kSlots - 1);
    for (std::size_t slot = *from; slot <= *to; ++slot) slots.set(slot);
  }
  return slots;
}

Result<Division> Division::parse(std::string_view text) {
  Division division;
  if (text.empty()) return division;
  MIST_TRY(const Value document, encoding::parse_json(text));
  if (!document.is_object()) return error(ErrorKind::Invalid, "it is not an object");
  Slots taken;
  for (const Value::Member& each : document.as_object()) {
    if (!each.value.is_string())
      return error(ErrorKind::Invalid, "the slots of {} are not text", escape_controls(each.key));
    MIST_TRY(const Slots slots, slots_in(each.value.as_string()));
    if ((taken & slots).any())
      return error(ErrorKind::Invalid, "{} has slots that somebody else has", escape_controls(each.key));
    taken |= slots;
    division.set(each.key, slots);
  }
  return division;
}

std::string Division::text() const {
  Value document = Value::object();
  for (const auto& [replica, slots] : owners_) document.set(replica, to_text(slots));
  return encoding::to_json(document);
}

Slots Division::of(const std::string& replica) const {
  const auto found = owners_.find(replica);
  return found == owners_.end() ? Slots() : found->second;
}

void Division::set(const std::string& replica, const Slots& slots) {
  if (slots.none())
    owners_.erase(replica);
  else
    owners_[replica] = slots;
}

Slots Division::free() const {
  Slots taken;
  for (const auto& [replica, slots] : owners_) taken |= slots;
  return ~taken;
}

Division::Step Division::step(const std::string& replica, const std::set<std::string>& live) const {
  // Those that have the most keep one more where it doesn't come out even.
  std::vector<std::pair<std::size_t, std::string>> ranks;
  for (const std::string& each : live) ranks.emplace_back(kSlots - of(each).count(), each);
  std::ranges::sort(ranks);
  const auto rank = static_cast<std::size_t>(
      std::ranges::find(ranks, replica, &std::pair<std::size_t, std::string>::second) - ranks.begin());
  const std::size_t quota = kSlots / ranks.size() + (rank < kSlots % ranks.size() ? 1 : 0);
  const Slots own = of(replica);
  Step step;
  if (own.count() > quota)
    step.give = some_of(own, own.count() - quota, true);
  else
    step.take = some_of(free(), quota - own.count(), false);
  return step;
}

}  // namespace mist::kube
