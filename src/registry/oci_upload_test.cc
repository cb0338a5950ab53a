// Uploads of blobs, by way of OciClient, to registries that behave as known ones do.
#include "registry/oci_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "http/url.h"
#include "registry/oci_fixture.h"
#include "registry/oci_layout_store.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

using testing::authorization_of;
using ::testing::ElementsAre;
using testing::MemoryRegistry;

const std::string kModuleBytes("\0asm\1\0\0\0", 8);
const oci::Repository kShop = testing::repository_of("oci://reg.example/team/shop");

http::Response status_only(int status) { return {.status = status, .headers = {}, .body = {}}; }

// A registry that takes uploads in chunks (distribution specification, "Pushing a blob in chunks"). As in
// CNCF's, each Location is good for one offset (there signed, in `_state`): what is sent to an upload that
// has got elsewhere is refused. Version 3 gives the offset away nevertheless; 2.8 ends the upload instead
// (registry/handlers/blobupload.go in both).
class UploadServer {
 public:
  /// Sees each part, and the PUT, before they are taken, with what has arrived before.
  using Fault = std::function<std::optional<http::Response>(const http::Request&, std::string& arrived)>;

  explicit UploadServer(Fault instead = {}) : fault(std::move(instead)) {
    registry.before = [this](const http::Request& request) { return answer(request); };
  }

  OciClient client(const std::optional<Login>& login = std::nullopt) {
    return OciClient(registry.web,
                     [login](const std::string&, const std::string&,
                             const Context&) -> Result<std::optional<Login>> { return login; },
                     {.resolve = [](const std::string&) -> Result<std::vector<std::string>> {
                        return std::vector<std::string>{"1.1.1.1"};
                      },
                      .chunked_from = 4,
                      .chunk_bytes = 3});
  }

  std::size_t count_of(std::string_view method) const {
    return static_cast<std::size_t>(
        std::ranges::count(registry.web.requests(), method, &http::Request::method));
  }

  Fault fault;
  bool ends_when_lost = false;  ///< as version 2.8
  std::string least_chunk;      ///< for OCI-Chunk-Min-Length
  std::string stuck_range;      ///< given after each part, whatever has arrived; empty: what has
  MemoryRegistry registry;
  std::vector<std::string> ranges;  ///< of the parts

 private:
  http::Response progress(int status) const {
    http::Response response = status_only(status);
    response.headers.push_back(
        {"Location", fmt::format("/v2/team/shop/blobs/uploads/{}?at={}", upload_, arrived_.size())});
    const bool is_stuck = !stuck_range.empty() && !arrived_.empty();
    response.headers.push_back(
        {"Range", is_stuck ? stuck_range : fmt::format("0-{}", arrived_.empty() ? 0 : arrived_.size() - 1)});
    return response;
  }

  std::optional<http::Response> answer(const http::Request& request) {
    const http::Url url = http::Url::parse(request.url).value_or({});
    if (url.path.find("/blobs/uploads/") == std::string::npos) return std::nullopt;
    if (request.method == "POST") {
      arrived_.clear();
      ++upload_;
      http::Response opened = progress(202);
      if (!least_chunk.empty()) opened.headers.push_back({"OCI-Chunk-Min-Length", least_chunk});
      return opened;
    }
    if (!url.path.ends_with(fmt::format("/{}", upload_))) return status_only(404);
    const std::string range(http::find_header(request.headers, "Content-Range"));
    if (request.method == "PATCH") ranges.push_back(range);
    const auto is_here = [&] {
      return url.query.substr(0, url.query.find('&')) == fmt::format("at={}", arrived_.size());
    };
    if (ends_when_lost && !is_here()) {
      ++upload_;
      return status_only(404);
    }
    if (request.method == "GET") return progress(204);
    if (fault)
      if (std::optional<http::Response> instead = fault(request, arrived_)) return instead;
    const bool follows = range.empty() || range.starts_with(fmt::format("{}-", arrived_.size()));
    if (!follows || !is_here()) return status_only(416);
    arrived_ += request.body;
    return request.method == "PATCH" ? progress(202) : stored(url.query);
  }

  http::Response stored(const std::string& query) {
    const std::string digest = http::unescape(query.substr(query.find("digest=") + 7));
    if (crypto::sha256(arrived_).str() != digest) return status_only(400);
    registry.blobs[digest] = arrived_;
    return status_only(201);
  }

  int upload_ = 0;
  std::string arrived_;
};

class OciUploadTest : public ::testing::Test {
 protected:
  const oci::Descriptor& layer() const { return artifact.blobs[1].descriptor; }
  /// Pushes the module; "": it is there.
  std::string push(UploadServer& server, const std::optional<Login>& login = std::nullopt) {
    OciClient client = server.client(login);
    const Status pushed = client.push_blob(kShop, artifact.blobs[1], Context());
    if (!pushed.ok()) return pushed.error().to_line();
    return server.registry.blobs[layer().digest.str()] == kModuleBytes ? "" : "other bytes arrived";
  }

  oci::Artifact artifact = oci::module_artifact(kModuleBytes, {});
};

TEST_F(OciUploadTest, ALargeBlobIsSentInChunks) {
  UploadServer server;
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("0-2", "3-5", "6-7"));
}

TEST_F(OciUploadTest, AChunkIsSentAgainInWholeWithALogin) {
  UploadServer server([](const http::Request& request, std::string&) -> std::optional<http::Response> {
    if (authorization_of(request) == "Basic YWxpY2U6Z2VoZWlt") return std::nullopt;
    return http::Response{.status = 401, .headers = {{"WWW-Authenticate", "Basic realm=\"r\""}}, .body = {}};
  });
  EXPECT_EQ(push(server, Login{.user = "alice", .password = SecretString("geheim")}), "");
  EXPECT_THAT(server.ranges, ElementsAre("0-2", "0-2", "3-5", "6-7"));
}

TEST_F(OciUploadTest, ALargeBlobOfALayoutIsSentFromItsFile) {
  const mist::testing::TempDir directory;
  HostFileSystem files;
  {
    const auto writer = LayoutWriter::open(files, directory.path() / "layout", Context());
    ASSERT_TRUE(writer.ok()) << writer.error().to_line();
    ASSERT_TRUE((*writer)->push_blob(kShop, artifact.blobs[1], Context()).ok());
    ASSERT_TRUE((*writer)->finish().ok());
  }
  const auto reader = LayoutReader::open(*directory_layout(files, directory.path() / "layout"), "layout");
  ASSERT_TRUE(reader.ok()) << reader.error().to_line();
  const std::optional<FilePart> file = (*reader)->file_of(layer());
  ASSERT_TRUE(file);
  UploadServer server;
  OciClient client = server.client();
  const auto moved = client.take_blob(**reader, kShop, kShop, layer(), 1 << 20, Context());
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  EXPECT_EQ(server.registry.blobs.at(layer().digest.str()), kModuleBytes);
  EXPECT_THAT(server.ranges, ElementsAre("0-2", "3-5", "6-7"));

  // A file that is damaged is never made a blob of the registry.
  ASSERT_TRUE(files.write(file->path, std::string(kModuleBytes.size(), 'x')).ok());
  server.registry.blobs.clear();
  const auto damaged = client.take_blob(**reader, kShop, kShop, layer(), 1 << 20, Context());
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().kind, ErrorKind::Conflict);
  EXPECT_TRUE(server.registry.blobs.empty());
  ASSERT_TRUE(files.write(file->path, "x").ok());
  EXPECT_EQ(client.take_blob(**reader, kShop, kShop, layer(), 1 << 20, Context()).error().kind,
            ErrorKind::Conflict);
}

// The first part that comes when three bytes are there breaks off after one byte more.
UploadServer::Fault break_inside_second_part() {
  return [broken = false](const http::Request& request,
                          std::string& arrived) mutable -> std::optional<http::Response> {
    if (arrived.size() != 3 || std::exchange(broken, true)) return std::nullopt;
    arrived += request.body.substr(0, 1);
    return status_only(502);
  };
}

TEST_F(OciUploadTest, AnUploadThatBreaksOffGoesOnWhereItIs) {
  UploadServer server(break_inside_second_part());
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("0-2", "3-5", "4-6", "7-7"));
  EXPECT_EQ(server.count_of("POST"), 1u);
}

// Only a part that arrives in whole, or not at all, leaves a place where such a registry goes on.
TEST_F(OciUploadTest, AnUploadOfWhichTheRegistryTellsNothingIsBegunAgain) {
  UploadServer server(break_inside_second_part());
  server.ends_when_lost = true;
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("0-2", "3-5", "0-2", "3-5", "6-7"));
  EXPECT_EQ(server.count_of("POST"), 2u);

  UploadServer between(
      [broken = false](const http::Request&, std::string& arrived) mutable -> std::optional<http::Response> {
        if (arrived.size() != 3 || std::exchange(broken, true)) return std::nullopt;
        return status_only(502);
      });
  between.ends_when_lost = true;
  EXPECT_EQ(push(between), "");
  EXPECT_THAT(between.ranges, ElementsAre("0-2", "3-5", "3-5", "6-7"));
  EXPECT_EQ(between.count_of("POST"), 1u);
}

TEST_F(OciUploadTest, AnUploadThatNeverGetsOnIsGivenUp) {
  UploadServer server([](const http::Request&, std::string& arrived) -> std::optional<http::Response> {
    if (arrived.size() < 3) return std::nullopt;
    return status_only(503);
  });
  OciClient client = server.client();
  const Status pushed = client.push_blob(kShop, artifact.blobs[1], Context());
  ASSERT_FALSE(pushed.ok());
  EXPECT_EQ(pushed.error().kind, ErrorKind::Retryable);
  EXPECT_LE(server.ranges.size(), 8u) << "not for ever";
}

TEST_F(OciUploadTest, ARegistryThatTakesNoChunksGetsTheWhole) {
  for (const int status : {400, 404, 405, 501}) {
    UploadServer server([&](const http::Request& request, std::string&) -> std::optional<http::Response> {
      if (request.method != "PATCH") return std::nullopt;
      return status_only(status);
    });
    EXPECT_EQ(push(server), "") << status;
    EXPECT_EQ(server.ranges.size(), 1u) << "it is asked once";
  }
}

// https://github.com/oras-project/rust-oci-client/pull/37
TEST_F(OciUploadTest, ARegistryWhoseChunksAreSmallerGetsTheWhole) {
  UploadServer server([](const http::Request& request, std::string&) -> std::optional<http::Response> {
    if (request.method != "PATCH" || request.body.size() < 3) return std::nullopt;
    return http::Response{
        .status = 416,
        .headers = {},
        .body = R"({"errors":[{"code":"REQUESTED_RANGE_NOT_SATISFIABLE","message":"the request body is too )"
                R"(large and exceeds the maximum permissible limit of 4.00MiB"}]})"};
  });
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("0-2")) << "it is asked once";
}

TEST_F(OciUploadTest, ChunksAreAsLargeAsTheRegistryWantsThem) {
  UploadServer server;
  server.least_chunk = "5";
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("0-4", "5-7"));
  server.ranges.clear();
  server.registry.blobs.clear();
  server.least_chunk = "18446744073709551615";
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("0-7"));
  server.ranges.clear();
  server.registry.blobs.clear();
  server.least_chunk = "-1";
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("0-2", "3-5", "6-7"));
}

TEST_F(OciUploadTest, ARegistryThatPutsChunksTogetherWronglyGetsTheWhole) {
  UploadServer server(
      [](const http::Request& request, std::string& arrived) -> std::optional<http::Response> {
        if (request.method == "PATCH" && arrived.size() == 3) arrived = "???";
        return std::nullopt;
      });
  EXPECT_EQ(push(server), "");
  EXPECT_EQ(server.count_of("PUT"), 2u);
}

// https://github.com/aws/containers-roadmap/issues/2831
TEST_F(OciUploadTest, ARangeThatStaysBehindIsNotBelieved) {
  UploadServer server;
  server.stuck_range = "0-2";
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("0-2", "3-5", "6-7"));
}

TEST_F(OciUploadTest, WhatARegistryDidNotTakeOfAChunkIsSentAgain) {
  UploadServer server;
  server.fault = [is_short = true](const http::Request& request,
                                   std::string& arrived) mutable -> std::optional<http::Response> {
    if (arrived.size() != 3 || !std::exchange(is_short, false)) return std::nullopt;
    arrived += request.body.substr(0, 1);
    http::Response taken = status_only(202);
    taken.headers = {{"Location", "/v2/team/shop/blobs/uploads/1?at=4"}, {"Range", "0-3"}};
    return taken;
  };
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("0-2", "3-5", "4-6", "7-7"));
}

}  // namespace
}  // namespace mist::registry
