#pragma once
// The small parts of answering over HTTP that the pages and the REST API share. Pure; any thread.

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"
#include "http/web_server.h"

namespace mist::catalog {

/// 507, Insufficient Storage (RFC 4918, section 11.5).
inline constexpr int kNoRoom = 507;
/// The HTTP status that says what an error's kind does; of a StorageFault 503, whatever its kind, or kNoRoom
/// where the disk is full.
int status_of(const Error& failure);
/// The error as everybody may read it: one sentence in place of faults of this machine, which are for its
/// log.
Error for_everybody(const Error& failure);

http::WebAnswer json(const encoding::Value& value, int status = 200);
http::WebAnswer html(std::string text, int status = 200);
http::WebAnswer nothing(int status);
/// 429 in JSON, with Retry-After.
http::WebAnswer too_often(int seconds);
/// 303: the browser gets `path`, a path of this catalog.
http::WebAnswer see_other(const std::string& path);

/// Cache-Control of an answer whose address names its content.
inline constexpr std::string_view kForEver = "public, max-age=31536000, immutable";
/// Whether an If-None-Match header has that ETag.
bool names_etag(std::string_view header, std::string_view etag);

/// Of a request that changes something. Invalid: it is no JSON object that was sent as one.
Result<encoding::Value> body_of(const http::WebRequest& request);
/// Invalid: it has other members, or ones that are no texts.
Status only_members(const encoding::Value& object, std::initializer_list<std::string_view> known);

/// The number of a comment or report in a path or form; 0, which none has: it is no number.
std::int64_t id_of(std::string_view text);

Error no_such(std::string_view what, std::string_view name);

/// The parts of a path as they are meant; nullopt: parts that only look like others (".", "..", escaped
/// slashes) are no names of anything here.
std::optional<std::vector<std::string>> parts_of(std::string_view path);

/// Of a query, or of a form in a body.
using Fields = std::multimap<std::string, std::string, std::less<>>;
Fields query_parts(std::string_view query);
/// The first value of that name; empty: there is none.
std::string field(const Fields& fields, std::string_view name);

}  // namespace mist::catalog
