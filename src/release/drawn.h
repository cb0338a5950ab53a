#pragma once
// Values that a revision's render drew from the release's seed, so that the next one can be held against it:
// which fields of which objects, how often each secret was rotated, and by which clock. Part of the record
// (docs/formats/release.md). Plain values; any thread.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apimachinery/object.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::release {

/// How often each secret was rotated, by its name; the empty name stands for random bytes without a name.
/// Names that aren't here: never.
using Rotations = std::map<std::string, std::uint32_t>;

/// A field whose value another seed would change.
struct DrawnField {
  apimachinery::ObjectKey key;
  std::string path;                       ///< ".data.password", ".spec.containers[name=web].env[0].value"
  std::vector<std::string> secrets = {};  ///< names of those that stand in it; empty: not known
  friend bool operator==(const DrawnField&, const DrawnField&) = default;
};

/// One request of the package to its host with the answer, as a digest.
struct Asked {
  std::string operation;
  std::string digest;  ///< "sha256:…"
  friend bool operator==(const Asked&, const Asked&) = default;
};

struct Drawn {
  std::string clock =
      {};  ///< RFC 3339: what the package was told the time is; empty: that of the first install
  Rotations rotations = {};
  bool unnamed = false;                   ///< it drew random bytes without a name
  std::vector<std::string> secrets = {};  ///< names of those that it asked for, ascending
  std::vector<DrawnField> fields = {};
  /// Fields that hold what a Secret held that the package looked up in the cluster.
  std::vector<DrawnField> looked_up = {};
  std::vector<Asked> asked = {};
  /// Each chart of a kustomization draws from a seed of its own, and not from the package's, as in the
  /// records of an older mistctl. Also where nothing was drawn: the next revision draws in the same way.
  bool own_chart_seeds = false;
  /// By name, what revisions before it used above what this one does, or of secrets that it doesn't ask for:
  /// a rollback goes back to lower numbers, and a rotation after it mustn't hand out a secret of then again.
  Rotations highest = {};

  /// The highest number of each secret that this revision or one before it used.
  Rotations used() const;
  /// Takes over those of `earlier` that are above its own.
  void remember(const Rotations& earlier);
  /// Nothing worth recording.
  bool empty() const { return *this == Drawn{}; }
  /// Another seed may give another result.
  bool anything() const { return unnamed || !secrets.empty(); }
  friend bool operator==(const Drawn&, const Drawn&) = default;
};

encoding::Value to_value(const Drawn& drawn);
/// Null gives an empty one. Internal when the record is damaged.
Result<Drawn> drawn_from_value(const encoding::Value& value);

}  // namespace mist::release
