#include "apply/fields/server_made.h"

#include <algorithm>

#include "apply/reserved_metadata.h"
#include "crypto/digest.h"
#include "encoding/json.h"

namespace mist::apply {
namespace {

// Values are kept as a digest: they may be large, or secret.
std::string digest_of(const FieldDifference& difference) {
  Value pair = Value::array({difference.after, difference.before});
  pair.sort_keys();
  return crypto::sha256(crypto::as_bytes(encoding::to_json(pair))).hex().substr(0, 32);
}

// Without these it isn't the release's any more, whoever took them away.
bool is_reserved(const FieldDifference& difference) {
  const std::vector<PathStep>& steps = difference.steps;
  if (steps.size() < 2 || steps[0].name != "metadata") return false;
  if (steps[1].name != "labels" && steps[1].name != "annotations") return false;
  if (steps.size() == 2) return true;  // there are none, and ours are always wanted
  return steps[2].name == kReleaseAnnotation ||
         std::ranges::find(kOwnershipLabels, steps[2].name) != kOwnershipLabels.end();
}

}  // namespace

std::vector<ServerMade> server_made(const std::vector<FieldDifference>& differences) {
  // More than these are asked for again each time.
  constexpr std::size_t kMost = 1000;
  std::vector<ServerMade> made;
  if (differences.size() > kMost) return made;
  made.reserve(differences.size());
  for (const FieldDifference& difference : differences)
    if (!is_reserved(difference)) made.push_back({difference.path, digest_of(difference)});
  return made;
}

void leave_out(std::vector<FieldDifference>& differences, const std::vector<ServerMade>& made) {
  if (made.empty()) return;
  const auto is_made = [&](const FieldDifference& difference) {
    // Admission changes a value in our own request, so the field is ours. Written by others, it is theirs.
    if (!difference.managers.empty() || is_reserved(difference)) return false;
    std::string digest;
    return std::ranges::any_of(made, [&](const ServerMade& each) {
      if (each.path != difference.path) return false;
      if (digest.empty()) digest = digest_of(difference);
      return each.digest == digest;
    });
  };
  for (FieldDifference& each : differences) each.made = is_made(each);
  const bool written_anyway = std::ranges::any_of(
      differences, [](const FieldDifference& each) { return !each.made && !each.uncertain; });
  if (written_anyway) std::erase_if(differences, &FieldDifference::made);
  for (FieldDifference& each : differences) each.uncertain |= each.made;
}

}  // namespace mist::apply
