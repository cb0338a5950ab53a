#pragma once
// Drawn fields: what a package made of the release's seed. They are found by rendering once more with another
// seed, recorded, and held against the next render: a plan that would change one (the package gave its secret
// another name or length, say) is refused with the field's name, unless the user wants new secrets. Rules and
// reasons: docs/secrets.md. No requests of its own; any thread.

#include <map>
#include <string>
#include <vector>

#include "base/secret.h"
#include "release/record.h"

namespace mist::render {

/// Which secrets are to be new: --rotate-secrets.
struct RotateSecrets {
  bool all = false;
  std::vector<std::string> names = {};
  bool nothing() const { return !all && names.empty(); }
};

/// The rotations of the next render: those of `deployed` (may be null), and for each that is asked one more
/// than it, a revision before it, or `tried` (ReleaseFacts::tried) ever had.
release::Rotations next_rotations(const release::Revision* deployed, const release::Rotations& tried,
                                  const RotateSecrets& rotate);

/// Objects by identity; the values outlive it.
using ObjectView = std::map<apimachinery::ObjectKey, const encoding::Value*>;

/// A drawn field of the deployed revision, or of an object that is adopted, that would get another value.
struct DrawnChange {
  apimachinery::ObjectKey key;
  std::string path;
  std::vector<std::string> secrets;  ///< names of those in it; empty: not known
  bool adopted = false;              ///< the value is that of an adopted object: adopted_changes()
};

/// The facts about a render that the comparison needs.
struct DrawnRender {
  const release::Drawn& drawn;
  const std::map<std::string, SecretString>& secrets;  ///< by name: the values of this render
  ObjectView objects;
};

/// The fields in which two renders differ that had two seeds. Objects that only one of them has are drawn as
/// a whole: the path is ".metadata.name".
std::vector<release::DrawnField> drawn_fields(const DrawnRender& render, const ObjectView& other_seed);

/// The content of Secrets in those of `fields` that are theirs: each text, decoded, and the drawn parts of
/// it. Where the other seed gave no such Secret, all that it holds.
std::vector<std::string> drawn_texts(const std::vector<release::DrawnField>& fields,
                                     const ObjectView& objects, const ObjectView& other_seed);

/// Fields that were drawn in `deployed`, are still there, and would be drawn otherwise. Fields around an
/// unchanged secret (a URI at another host), annotations (a checksum of everything) and what `rotate` asks
/// for are not among them. `other_seed` as above, empty if nothing is drawn any more.
std::vector<DrawnChange> drawn_changes(const release::Revision& deployed, const DrawnRender& render,
                                       const ObjectView& other_seed, const RotateSecrets& rotate);

/// Takes out of `changes` what has its old value in a render with the rotations and the clock of before: that
/// change is the one that was asked for.
void remove_wanted(std::vector<DrawnChange>& changes, const release::Revision& deployed,
                   const ObjectView& as_before);

/// Data of `live` Secrets that the render draws otherwise. They are adopted or taken over, now or by a run
/// that failed, or are left from an earlier life of the release: somebody else drew it, and it is in use.
/// Data that `rotate` asks for is not among it. `other_seed` as above.
std::vector<DrawnChange> adopted_changes(const DrawnRender& render, const ObjectView& other_seed,
                                         const ObjectView& live, const RotateSecrets& rotate);

/// Conflict, naming each field and what to do; fine if there is none.
Status refuse_drawn_changes(const std::vector<DrawnChange>& changes, const release::ReleaseId& id);

/// Invalid if a name to rotate is neither in the new render nor in the deployed revision, naming what there
/// is.
Status check_rotated_names(const RotateSecrets& rotate, const release::Drawn& now,
                           const release::Revision* deployed);

/// A drawn certificate of which two thirds of its life are over.
struct AgingCertificate {
  apimachinery::ObjectKey key;
  std::string path;
  std::string subject;    ///< may hold anything
  std::string not_after;  ///< RFC 3339
  bool expired = false;
};
std::vector<AgingCertificate> aging_certificates(const std::vector<release::DrawnField>& fields,
                                                 const ObjectView& objects, WallTime now);
/// One sentence, safe for a terminal.
std::string to_string(const AgingCertificate& certificate);

ObjectView view_of(const std::vector<release::RenderedObject>& objects);

}  // namespace mist::render
