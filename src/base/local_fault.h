#pragma once
// Details of errors that keep a package from being used on this machine alone: other machines have another
// trust policy, other pins and other remembered signers. Any thread.

namespace mist {

/// Something that this machine keeps for itself is wrong, was altered, or can't be read.
struct LocalFault {};

/// The package has other bytes or signers than this machine remembers.
struct PinMismatch {};

}  // namespace mist
