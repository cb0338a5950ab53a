#pragma once
// Where objects of a blueprint's functions go that name no namespace. One thread.

#include <set>
#include <string>

#include "apimachinery/gvk.h"
#include "kube/client.h"

namespace mist::apply {

/// Gives objects of namespaced kinds that name no namespace this one. `made`: an object, or a list of them.
/// Returns the kinds whose scope isn't known, because the server doesn't serve them or can't be asked: it may
/// be known later, so where their objects are isn't known yet.
std::set<apimachinery::GroupKind> give_namespaces(encoding::Value& made, const std::string& ns,
                                                  kube::Client& client, const Context& context);

}  // namespace mist::apply
