#pragma once
// How values stand in the catalog's tables: times are milliseconds since 1970. For the sources with SQL
// alone. Pure; any thread.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/text.h"
#include "catalog/store.h"
#include "sql/database.h"

namespace mist::catalog {

inline std::int64_t stamp(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}
inline std::optional<std::int64_t> stamp(const std::optional<WallTime>& time) {
  return time ? std::optional(stamp(*time)) : std::nullopt;
}
inline WallTime time_of(std::int64_t stamp) { return WallTime(std::chrono::milliseconds(stamp)); }
inline std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

/// That the clocks of two processes may differ. A time that is farther ahead than any that is ever stored,
/// and by more than this, was stored by a clock that was wrong, and stands for now: else what waits for it
/// would wait for as long as that clock was ahead.
inline constexpr std::int64_t kClockSkew = std::int64_t{5} * 60 * 1000;

/// Of Page::after; what is no number is 0.
inline std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::max<std::int64_t>(number, 0);
}

inline Error not_there(std::string_view what, std::string_view name) {
  return error(ErrorKind::NotFound, "there is no {} {}", what, escape_controls(name));
}

/// Of a list that was asked for one item more than the page has.
template <typename T, typename Next>
void cut(Slice<T>& slice, const Page& page, const Next& next) {
  if (slice.items.size() <= static_cast<std::size_t>(page.limit)) return;
  slice.items.pop_back();
  slice.next = next(slice.items.back());
}

/// Of an INSERT with RETURNING id; 0: it made no row.
inline Result<std::int64_t> new_id(sql::Database& db, std::string_view sql, sql::Params params) {
  std::int64_t id = 0;
  MIST_TRY_VOID(db.query(sql, params, [&](const sql::Row& row) { id = row.integer(0); }));
  return id;
}

/// In the transaction of what it tells of, at the time that `now` stamps.
inline Status insert_audit(sql::Database& db, std::int64_t now, const Audit& audit) {
  if (!audit) return {};
  MIST_TRY_VOID(db.run("INSERT INTO audit (time, who, what, subject, peer) VALUES (?, ?, ?, ?, ?)",
                       {now, audit->who, audit->what, audit->subject, audit->peer}));
  return {};
}

/// NotFound.
inline Result<std::int64_t> account_id(sql::Database& db, const std::string& name) {
  std::optional<std::int64_t> id;
  MIST_TRY_VOID(db.query("SELECT id FROM accounts WHERE name = ?", {name},
                         [&](const sql::Row& row) { id = row.integer(0); }));
  if (!id) return not_there("account", name);
  return *id;
}

}  // namespace mist::catalog
