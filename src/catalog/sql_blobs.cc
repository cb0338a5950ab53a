#include "catalog/sql_blobs.h"

#include <optional>

#include "base/storage_fault.h"

namespace mist::catalog {
namespace {

Error no_bytes_of(const crypto::Digest& digest) {
  return error(ErrorKind::NotFound, "the database has no bytes of {}", digest.str())
      .with_hint("restore it from a backup")
      .with_detail(StorageFault());
}

}  // namespace

Result<crypto::Digest> SqlBlobs::put(const std::string& bytes) {
  const crypto::Digest digest = crypto::sha256(bytes);
  bool is_there = false;
  MIST_TRY_VOID(connections_->read("SELECT 1 FROM blobs WHERE digest = ?", {digest.str()},
                                   [&](const sql::Row&) { is_there = true; }));
  if (is_there) return digest;
  // One statement, which needs no turn among the transactions: whoever comes first writes the same bytes.
  const SqlConnections::Borrowed connection(*connections_);
  MIST_TRY(sql::Database* const db, connection.database());
  MIST_TRY_VOID(
      db->run("INSERT INTO blobs VALUES (?, ?) ON CONFLICT DO NOTHING", {digest.str(), sql::Bytes{bytes}}));
  return digest;
}

Result<std::string> SqlBlobs::get(const crypto::Digest& digest) const {
  std::optional<std::string> bytes;
  MIST_TRY_VOID(connections_->read("SELECT bytes FROM blobs WHERE digest = ?", {digest.str()},
                                   [&](const sql::Row& row) { bytes = row.text(0); }));
  if (!bytes) return no_bytes_of(digest);
  if (crypto::sha256(*bytes) == digest) return *std::move(bytes);
  return error(ErrorKind::Invalid, "the database has other bytes at {} than its digest says", digest.str())
      .with_hint("restore it from a backup")
      .with_detail(StorageFault());
}

Result<std::uint64_t> SqlBlobs::size(const crypto::Digest& digest) const {
  std::optional<std::uint64_t> size;
  MIST_TRY_VOID(
      connections_->read("SELECT octet_length(bytes) FROM blobs WHERE digest = ?", {digest.str()},
                         [&](const sql::Row& row) { size = static_cast<std::uint64_t>(row.integer(0)); }));
  if (!size) return no_bytes_of(digest);
  return *size;
}

}  // namespace mist::catalog
