#pragma once
// A plan as a person reads it: for each object that changes the lines of its YAML before and after, and the
// lines of the package's files that say so. Values of Secrets are masked: one sees that a value changes, not
// what it is, how long, or whether two are alike. Pure; any thread.

#include "apply/plan/plan.h"
#include "base/text_diff.h"
#include "render/hidden_values.h"

namespace mist::action {

struct DiffOptions {
  bool show_secrets = false;
  /// Looked-up values to hide, unless show_secrets; outlives the call. Null: nothing.
  const render::HiddenValues* hidden = nullptr;
  std::size_t context = 3;  ///< unchanged lines around changed ones
};

struct DiffLine {
  LineChange change = LineChange::Same;
  std::string text;
  std::uint32_t source = 0;  ///< of an addition: the line of the package's file; 0: none
};

/// Lines that follow one another.
struct Hunk {
  std::size_t before = 0;  ///< number of its first line in the old text, from 1
  std::size_t after = 0;   ///< and in the new one
  std::vector<DiffLine> lines;
};

struct ObjectDiff {
  const apply::PlannedAction* action = nullptr;
  std::string file;          ///< of the package that wants it; empty: nobody wants it
  std::uint32_t line = 0;    ///< where it begins there
  std::string package = {};  ///< RenderedObject::package
  std::vector<Hunk> hunks;
  std::vector<apply::FieldDifference>
      fields;  ///< as the action has them, and what goes before; Secrets masked
};

/// One for each object that isn't simply unchanged or still retained; the plan must outlive it.
std::vector<ObjectDiff> diff_of(const apply::Plan& plan, const apply::LiveState& live,
                                const DiffOptions& options);

/// An object that one record has otherwise than another: a test of the release (mistletoe.dev/test), which no
/// plan has, or an object of two revisions.
struct RecordedDiff {
  apimachinery::ObjectKey key;
  LineChange change = LineChange::Same;  ///< Added, Removed; Same: it is there before and after, and differs
  std::string file;                      ///< of the package that wants it; empty: nobody wants it
  std::uint32_t line = 0;
  std::vector<Hunk> hunks;
  bool only_moved = false;  ///< it only changed its place among the others
};

/// In the order of `after`, then what goes.
std::vector<RecordedDiff> diff_of_recorded(const std::vector<release::RenderedObject>& before,
                                           const std::vector<release::RenderedObject>& after,
                                           const DiffOptions& options);

}  // namespace mist::action
