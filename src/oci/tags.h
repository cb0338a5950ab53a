#pragma once
// Tags and versions. A tag can't hold the '+' of a version's build metadata, so it is written as '_', as Helm
// does; what is not a version as a tag is none either way. Pure; any thread.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/semver.h"

namespace mist::oci {

/// [a-zA-Z0-9_][a-zA-Z0-9._-]{0,127} (distribution specification).
bool is_tag(std::string_view text);

std::string tag_of_version(std::string_view version);
/// "1.0.0_build.5" is "1.0.0+build.5"; a tag that is not a version stays as it is.
std::string version_of_tag(std::string_view tag);

/// True for a whole SemVer 2 version, "v" before it allowed: such a tag never moves. "1.4" and "latest" may.
bool is_fixed_version(std::string_view tag);

/// Whether what has this version may have that tag: the version's own, with or without the "v" before either
/// of them; "1.4" of 1.4.2; or one that is no version ("prod", "7").
bool fits_version(std::string_view tag, std::string_view version);

/// The tag of the newest version in `range`; a prerelease only where the range names one of its numbers. Of
/// tags with the same precedence the last by its text. Nothing: no tag is in it.
std::optional<std::string> newest_in(const encoding::SemVerRange& range, std::span<const std::string> tags);

/// All of them, newest first.
std::vector<std::string> all_in(const encoding::SemVerRange& range, std::span<const std::string> tags);

/// The tags that are whole versions, in their order: a range chooses among these. Others may move, so no
/// signature holds them to a version, and "20240601" is a date.
std::vector<std::string> fixed_versions(std::span<const std::string> tags);

/// Tags that are versions, "1.4" too, newest first.
std::vector<std::string> newest_first(std::span<const std::string> tags);

}  // namespace mist::oci
