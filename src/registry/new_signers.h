#pragma once
// Which programs remember who signed a package. Plain value.

namespace mist::registry {

/// Whether the signers of a package that is known by none are asked for and remembered, where the policy lets
/// that be (trust::Mode::Remember).
enum class NewSigners : bool {
  Leave,     ///< for whoever only copies or shows bytes: as trust::Mode::Known, without a request
  Remember,  ///< for whoever renders packages
};

}  // namespace mist::registry
