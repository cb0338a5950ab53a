#pragma once
// The changes between two versions of a package: in the objects that they make of their default values, as a
// unified diff of each, and in their inputs. Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/model.h"
#include "encoding/value.h"
#include "release/record.h"

namespace mist::catalog {

/// The objects of a version as bytes that are kept: a JSON list of {object, yaml}, sorted.
std::string text_of(const std::vector<release::RenderedObject>& objects);

/// Kept in place of that where it is too long.
inline constexpr std::string_view kTooLongText = R"({"tooLong":true})";

enum class ChangeOf : std::uint8_t { Added, Removed, Changed };
std::string_view to_string(ChangeOf change);  ///< "added", "removed", "changed"

struct ObjectChange {
  std::string object = {};  ///< "Deployment web"
  ChangeOf change = ChangeOf::Changed;
  std::vector<std::string> lines = {};  ///< base/text_diff.h's; of an addition or a removal all of its lines
  bool cut = false;                     ///< there are more; without any: too much else changed
};

struct VersionChanges {
  std::string from = {}, to = {};
  bool objects_known = true;  ///< false: of one of both nobody kept its objects; or they are
  bool too_long = false;      ///< too long to be compared
  std::vector<ObjectChange> objects = {};
  std::size_t unchanged = 0;
  std::vector<std::string> defaults = {};  ///< of the values that templates begin with, as lines of a diff
  std::vector<std::string> inputs = {};    ///< of the schema of the inputs
};

/// `before` and `after`: what text_of() gave for them, or kTooLongText; empty: no test rendered it. Invalid:
/// they are damaged. Takes a bounded time: what differs in very much is given as removed and added.
Result<VersionChanges> changes_between(const Version& from, std::string_view before, const Version& to,
                                       std::string_view after);

encoding::Value to_value(const VersionChanges& changes);

}  // namespace mist::catalog
