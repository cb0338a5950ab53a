#pragma once
// The bytes of packages in a PostgreSQL database, so that all instances have them. Any thread.

#include <cstdint>
#include <memory>
#include <string>

#include "catalog/blobs.h"
#include "catalog/sql_connections.h"

namespace mist::catalog {

class SqlBlobs final : public Blobs {
 public:
  explicit SqlBlobs(std::shared_ptr<SqlConnections> connections) : connections_(std::move(connections)) {}

  Result<crypto::Digest> put(const std::string& bytes) override;
  Result<std::string> get(const crypto::Digest& digest) const override;
  Result<std::uint64_t> size(const crypto::Digest& digest) const override;

 private:
  const std::shared_ptr<SqlConnections> connections_;
};

}  // namespace mist::catalog
