// Quantities of resources: two on two lines; being the same amount is an equivalence.
#include "apimachinery/quantity.h"

#include "targets.h"

namespace mist::fuzz {

void quantity(std::string_view bytes) {
  using apimachinery::same_quantity;
  Input input(bytes);
  const std::string_view a = input.line(), b = input.line(), c = input.line();
  if (same_quantity(a, b) != same_quantity(b, a)) fail("not the same both ways", bytes);
  if (same_quantity(a, b) && (!same_quantity(a, a) || !same_quantity(b, b)))
    fail("not the same as itself", bytes);
  if (same_quantity(a, b) && same_quantity(b, c) && !same_quantity(a, c))
    fail("not the same by way of another", bytes);
}

}  // namespace mist::fuzz
