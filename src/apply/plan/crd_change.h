#pragma once
// Whether a changed CustomResourceDefinition still fits the objects of its kind that are there. Pure; any
// thread.

#include <map>
#include <string>
#include <vector>

#include "encoding/value.h"

namespace mist::apply {

/// Of a CRD as it is and as it is to be: the versions that are served and no longer will be.
std::vector<std::string> unserved_versions(const encoding::Value& live, const encoding::Value& wanted);

/// By version that is no longer served: an object that somebody last wrote in it, "Thing shop/a".
using VersionUsers = std::map<std::string, std::string>;

/// Why objects or their writers break, each in a sentence without a full stop: a version that is removed and
/// that objects are stored in (status.storedVersions) or written in (`users`); and in a version that stays, a
/// field that is removed, changes its type, or is required now. Empty: nothing that can be seen here.
std::vector<std::string> crd_problems(const encoding::Value& live, const encoding::Value& wanted,
                                      const VersionUsers& users);

}  // namespace mist::apply
