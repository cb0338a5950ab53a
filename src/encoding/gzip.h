#pragma once
// gzip (RFC 1952), for records in Secrets and archives. Pure functions; any thread.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::encoding {

/// The same bytes give the same result with the same zlib: the header holds no time, name or system. Errors:
/// Internal (memory).
Result<std::string> gzip(std::string_view bytes);

/// Unpacks all members. Errors: Invalid (no gzip, damaged, cut off, bytes after the end, more than `limit`
/// bytes unpacked: nothing beyond it is ever held in memory).
Result<std::string> gunzip(std::string_view bytes, std::size_t limit);

}  // namespace mist::encoding
