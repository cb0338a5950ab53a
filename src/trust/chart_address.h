#pragma once
// The address of a chart repository as rules and records name it: one name for each of the ways to write it.
// The address is fetched as the user wrote it, so its name may not be that of another place. Pure;
// any thread.

#include <string>
#include <string_view>

namespace mist::trust {

/// "https://charts.example.com/team": scheme and host in lower case, without credentials, the usual port, a
/// dot behind the host, a query, empty segments, and escapes of what needs none. Of a pattern too: its '*'
/// stay.
std::string chart_repository_name(std::string_view url);

/// Why no rule can be held against that address, or pattern of addresses, to follow its text and ": "; empty:
/// nothing. Its path has a segment "." or "..", however it is escaped: whoever fetches it reads another path.
std::string objection_to_chart_address(std::string_view url);

}  // namespace mist::trust
