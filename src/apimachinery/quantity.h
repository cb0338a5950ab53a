#pragma once
// Resource quantities ("500m", "1Gi", "1e3"), compared exactly as k8s.io/apimachinery/pkg/api/resource does:
// two texts that mean the same amount are equal. Pure; any thread.

#include <string>
#include <string_view>

namespace mist::apimachinery {

/// True when both are quantities of the same amount: "1000m" and "1", "1Gi" and "1024Mi". Two equal texts
/// that are no quantities are not.
bool same_quantity(std::string_view a, std::string_view b);

/// Whether a server that is given `wanted` stores `stored`: the same amount in the same family of units
/// (decimal, binary, exponent), or without one that its canonical form doesn't keep: 0.5Ki as 512, 0.1Gi as
/// 107374182400m, 12e2 as 1200. It never stores 1Gi as 1073741824.
bool quantity_stored_as(std::string_view wanted, std::string_view stored);

/// Whether a server takes this text for a quantity. Where it is too long to tell, yes.
bool is_quantity(std::string_view text);
/// The quantity that its author probably meant by a text that is none: "64Mi" of "64 mi", "64M" of "64MB";
/// empty: nobody knows.
std::string nearest_quantity(std::string_view text);

}  // namespace mist::apimachinery
