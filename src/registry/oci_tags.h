#pragma once
// Tags of an OCI repository: listing them, giving one, taking it away, and deleting what it names. Any
// thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "oci/reference.h"
#include "registry/oci_client.h"
#include "registry/oci_packages.h"

namespace mist::registry {

struct Tag {
  std::string name;
  std::optional<std::string> version = {};  ///< nothing: it is no whole version, and may move
};

/// Versions, newest first, then the other tags by their names. `range`: only whole versions in it; empty: all
/// tags. Errors: Invalid (no range), of OciClient::tags.
Result<std::vector<Tag>> list_tags(OciClient& client, const oci::Repository& repository,
                                   const std::string& range, const Context& context);

/// A tag, or a version, in the form that registries have. Errors: Invalid.
Result<std::string> parse_tag(std::string_view text);

struct TagReport {
  oci::Reference tagged;                      ///< with the tag and its digest
  std::optional<crypto::Digest> before = {};  ///< what the tag pointed to; nothing: it is new
  bool was_there = false;                     ///< it pointed there already
  TagAfter after = {};                        ///< how the tag looked in the end
};

/// Gives what `reference` names (a tag or a digest, no range) another tag in its repository; no blob is sent.
/// A version that was published doesn't change, unless `overwrite`. Errors: Conflict, of OciClient.
Result<TagReport> tag_artifact(OciClient& client, const oci::Reference& reference, const std::string& tag,
                               Overwrite overwrite, const Context& context);

/// `reference` with the digest that its tag points to, as far as the registry says it.
Result<oci::Reference> find_to_delete(OciClient& client, const oci::Reference& reference,
                                      const Context& context);

/// Removes the tag that `reference` names; of a digest alone the manifest, with all of its tags. `found`:
/// what find_to_delete() gave. NotFound; Invalid: the registry doesn't do that.
Status delete_artifact(OciClient& client, const oci::Reference& reference, const oci::Reference& found,
                       const Context& context);

}  // namespace mist::registry
