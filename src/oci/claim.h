#pragma once
// Reading of signatures and attestations: the parts of it that both need. Only for this folder. Pure; any
// thread.

#include <string>
#include <string_view>

#include "base/result.h"
#include "encoding/value.h"
#include "oci/signature.h"

namespace mist::oci {

/// Seconds since 1970, as in containers/image ("atomic container signature").
inline constexpr std::string_view kTimestamp = "timestamp";

/// The claim, with `why` nothing of it can be believed.
SignatureClaim damaged_claim(SignatureClaim claim, std::string why);
/// JSON that somebody hung on an artifact. Errors: Invalid, also beyond a bound.
Result<encoding::Value> parse_claim(std::string_view text);
/// Those in the signed bytes; anything but an object has none.
void read_signed_annotations(const encoding::Value& annotations, SignatureClaim& claim);

}  // namespace mist::oci
