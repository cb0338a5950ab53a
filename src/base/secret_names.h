#pragma once
// Names under which credentials stand: of query parameters, and of members of documents. One list, so that
// logs, messages and records hide the same ones. Pure; any thread.

#include <string_view>

namespace mist {

/// True for "token", "X-Amz-Signature", "accessToken" and for "sig" of Azure's SAS URLs, in any case; not for
/// "design".
bool names_secret(std::string_view name);

}  // namespace mist
