#include "package/type_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "crypto/digest.h"
#include "encoding/gzip.h"
#include "package/installation_fault.h"
#include "testing/temp_dir.h"

namespace mist::package {
namespace {

using apimachinery::KubeMinor;
using ::testing::HasSubstr;

TEST(TypeStore, GivesOnlyTheTablesThatCameAlong) {
  const testing::TempDir directory;
  HostFileSystem files;
  const std::string table = *encoding::gzip(R"({"kubernetes": "v1.36.3", "lifecycle": [], "schemas": {}})");
  ASSERT_TRUE(files.write(directory.path() / "kubernetes-1.36.json.gz", table).ok());
  ASSERT_TRUE(files.write(directory.path() / "kubernetes-1.37.json.gz", table).ok());
  const std::string digest = crypto::sha256(table).hex();
  const std::string other(64, '0');
  const std::array digests{KubeTypesDigest{35, digest}, KubeTypesDigest{36, digest},
                           KubeTypesDigest{37, other}};
  const TypeStore store(directory.path(), digests);
  EXPECT_EQ(store.minors(), "1.35, 1.36, 1.37");
  EXPECT_TRUE(store.has(KubeMinor{37}));
  EXPECT_FALSE(store.has(KubeMinor{34}));

  const auto found = store.types(files, KubeMinor{36});
  ASSERT_TRUE(found.ok()) << found.error().to_line();
  EXPECT_EQ((*found)->minor(), KubeMinor{36});
  EXPECT_NE(check_installation(files, store, {}).error().detail<InstallationFault>(), nullptr);
  const TypeStore whole(directory.path(), std::span(digests).subspan(1, 1));
  EXPECT_TRUE(check_installation(files, whole, {}).ok());
  const std::array engines{EngineDigest{.name = "jinja", .sha256 = other}};
  const auto no_engine = check_installation(files, whole, EngineStore(directory.path(), engines));
  ASSERT_FALSE(no_engine.ok());
  EXPECT_NE(no_engine.error().detail<InstallationFault>(), nullptr);
  const auto changed = store.types(files, KubeMinor{37});
  ASSERT_FALSE(changed.ok());
  EXPECT_THAT(changed.error().message, HasSubstr("is not the file that came with this mistctl"));
  EXPECT_NE(changed.error().detail<InstallationFault>(), nullptr);
  const auto gone = store.types(files, KubeMinor{35});
  ASSERT_FALSE(gone.ok());
  EXPECT_NE(gone.error().detail<InstallationFault>(), nullptr);
  EXPECT_THAT(gone.error().hint, HasSubstr("MIST_SCHEMAS_LOCATION"));
  const auto none = store.types(files, KubeMinor{34});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(none.error().hint, HasSubstr("1.35, 1.36, 1.37"));
}

}  // namespace
}  // namespace mist::package
