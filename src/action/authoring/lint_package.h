#pragma once
// Everything that is wrong or unwise about a package: the rules of package/lint.h on its files and on what it
// renders, by default and in each of its test cases. Writes nothing, needs no cluster. One thread.

#include <vector>

#include "action/authoring/package_cases.h"
#include "package/lint.h"
#include "package/type_store.h"

namespace mist::action {

/// Sorted. Errors: Cancelled, of reading the cases' folder and the types, and those with a
/// package::InstallationFault; what is wrong with the package is a finding. The objects of each case are held
/// against the types of the Kubernetes that it is rendered for, if `types` has them.
Result<std::vector<package::Finding>> lint_package(const FileSystem& files, package::Renderer& renderer,
                                                   const PackageCases& cases, const package::TypeStore& types,
                                                   const Context& context);

}  // namespace mist::action
