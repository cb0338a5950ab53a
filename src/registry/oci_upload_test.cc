// Uploads of blobs, by way of OciClient, to registries that behave as known ones do.
#include "registry/oci_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "base/url.h"
#include "http/retry.h"
#include "http/url.h"
#include "registry/oci_fixture.h"
#include "registry/oci_layout_store.h"
#include "testing/fake_clock.h"
#include "testing/temp_dir.h"

namespace mist::registry {
namespace {

using testing::authorization_of;
using ::testing::ElementsAre;
using testing::MemoryRegistry;

const std::string kUploadedModule("\0asm\1\0\0\0", 8);
const oci::Repository kUploadedTo = testing::repository_of("oci://reg.example/team/shop");

http::Response status_only(int status) { return {.status = status, .headers = {}, .body = {}}; }

// A registry that takes uploads at once, and in chunks (distribution specification, "Pushing a blob in
// chunks"). As in CNCF's, each Location is good for one offset (there signed, in `_state`): what is sent to
// an upload that has got elsewhere is refused. Version 3 gives the offset away nevertheless; 2.8 ends the
// upload instead (registry/handlers/blobupload.go in both).
class UploadServer {
 public:
  /// Sees each part, and the PUT, before they are taken, with what has arrived before.
  using Fault = std::function<std::optional<http::Response>(const http::Request&, std::string& arrived)>;

  explicit UploadServer(Fault instead = {}) : fault(std::move(instead)) {
    registry.before = [this](const http::Request& request) { return answer(request); };
  }

  OciClient client(const std::optional<Login>& login = std::nullopt) { return client(registry.web, login); }
  /// By way of a transport that leads to `registry.web`.
  static OciClient client(http::Transport& transport, const std::optional<Login>& login,
                          std::size_t chunk_bytes = 3) {
    return OciClient(transport,
                     [login](const std::string&, const std::string&,
                             const Context&) -> Result<std::optional<Login>> { return login; },
                     {.resolve = [](const std::string&) -> Result<std::vector<std::string>> {
                        return std::vector<std::string>{"1.1.1.1"};
                      },
                      .large_from = 4,
                      .chunk_bytes = chunk_bytes});
  }

  std::size_t count_of(std::string_view method) const {
    return static_cast<std::size_t>(
        std::ranges::count(registry.web.requests(), method, &http::Request::method));
  }

  Fault fault;
  bool ends_when_lost = false;  ///< as version 2.8
  std::string least_chunk;      ///< for OCI-Chunk-Min-Length
  bool takes_all = true;        ///< false: a proxy before it bounds requests
  bool range_sticks = false;    ///< it stays that of the first part
  MemoryRegistry registry;
  std::vector<std::string> ranges;  ///< of the parts; "all": it names none

 private:
  http::Response progress(int status) const {
    http::Response response = status_only(status);
    response.headers.push_back(
        {"Location", fmt::format("/v2/team/shop/blobs/uploads/{}?at={}", upload_, arrived_.size())});
    const std::size_t told = range_sticks ? first_part_ : arrived_.size();
    response.headers.push_back({"Range", fmt::format("0-{}", told == 0 ? 0 : told - 1)});
    return response;
  }

  std::optional<http::Response> answer(const http::Request& request) {
    const http::Url url = http::Url::parse(request.url).value_or({});
    if (url.path.find("/blobs/uploads/") == std::string::npos) return std::nullopt;
    if (request.method == "POST") {
      arrived_.clear();
      first_part_ = 0;
      ++upload_;
      http::Response opened = progress(202);
      if (!least_chunk.empty()) opened.headers.push_back({"OCI-Chunk-Min-Length", least_chunk});
      return opened;
    }
    if (!url.path.ends_with(fmt::format("/{}", upload_))) return status_only(404);
    const std::string range(http::find_header(request.headers, "Content-Range"));
    if (request.method == "PATCH") ranges.push_back(range.empty() ? "all" : range);
    const auto is_here = [&] {
      return url.query.substr(0, url.query.find('&')) == fmt::format("at={}", arrived_.size());
    };
    if (ends_when_lost && !is_here()) {
      ++upload_;
      return status_only(404);
    }
    if (request.method == "GET") return progress(204);
    if (request.method == "PATCH" && range.empty() && !takes_all) return status_only(413);
    if (fault)
      if (std::optional<http::Response> instead = fault(request, arrived_)) return instead;
    const bool follows = range.empty() || range.starts_with(fmt::format("{}-", arrived_.size()));
    if (!follows || !is_here()) return status_only(416);
    arrived_ += request.body;
    if (first_part_ == 0) first_part_ = arrived_.size();
    return request.method == "PATCH" ? progress(202) : stored(url.query);
  }

  http::Response stored(const std::string& query) {
    const std::string digest = percent_decoded(query.substr(query.find("digest=") + 7));
    if (crypto::sha256(arrived_).str() != digest) return status_only(400);
    registry.blobs[digest] = arrived_;
    return status_only(201);
  }

  int upload_ = 0;
  std::size_t first_part_ = 0;
  std::string arrived_;
};

class OciUploadTest : public ::testing::Test {
 protected:
  const oci::Descriptor& layer() const { return artifact.blobs[1].descriptor; }
  /// Pushes the module; "": it is there.
  std::string push(UploadServer& server, const std::optional<Login>& login = std::nullopt) {
    OciClient client = server.client(login);
    const Status pushed = client.push_blob(kUploadedTo, artifact.blobs[1], Context());
    if (!pushed.ok()) return pushed.error().to_line();
    return server.registry.blobs[layer().digest.str()] == kUploadedModule ? "" : "other bytes arrived";
  }

  oci::Artifact artifact = oci::module_artifact(kUploadedModule, {});
};

TEST_F(OciUploadTest, ALargeBlobIsSentAtOnce) {
  UploadServer server;
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all"));
  EXPECT_EQ(server.count_of("PUT"), 1u);
}

// Such as a proxy that takes no more than so many bytes, or so much time, for a request.
TEST_F(OciUploadTest, WhereLargeRequestsDoNotGetThroughABlobIsSentInChunks) {
  UploadServer server;
  server.takes_all = false;
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all", "0-2", "3-5", "6-7"));
  EXPECT_EQ(server.count_of("POST"), 1u);
}

TEST_F(OciUploadTest, ABlobIsSentAgainFromItsBeginningWithALogin) {
  for (const bool takes_all : {true, false}) {
    UploadServer server([](const http::Request& request, std::string&) -> std::optional<http::Response> {
      if (authorization_of(request) == "Basic YWxpY2U6Z2VoZWlt") return std::nullopt;
      return http::Response{
          .status = 401, .headers = {{"WWW-Authenticate", "Basic realm=\"r\""}}, .body = {}};
    });
    server.takes_all = takes_all;
    EXPECT_EQ(push(server, Login{.user = "alice", .password = SecretString("geheim")}), "");
    if (takes_all) {
      EXPECT_THAT(server.ranges, ElementsAre("all", "all"));
    } else {
      EXPECT_THAT(server.ranges, ElementsAre("all", "0-2", "0-2", "3-5", "6-7"));
    }
  }
}

TEST_F(OciUploadTest, ABlobIsSentAgainWhereTheRegistryIsBusy) {
  mist::testing::FakeClock clock;
  mist::testing::FakeRandom random;
  NullEventSink events;
  UploadServer server(
      [is_busy = true](const http::Request& request, std::string&) mutable -> std::optional<http::Response> {
        if (request.method != "PATCH" || !std::exchange(is_busy, false)) return std::nullopt;
        return http::Response{.status = 429, .headers = {{"Retry-After", "3"}}, .body = {}};
      });
  http::RetryingTransport patient(server.registry.web, clock, random, events);
  OciClient client = UploadServer::client(patient, std::nullopt);
  const Status pushed = client.push_blob(kUploadedTo, artifact.blobs[1], Context());
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
  EXPECT_EQ(server.registry.blobs.at(layer().digest.str()), kUploadedModule);
  EXPECT_THAT(server.ranges, ElementsAre("all", "all"));
  EXPECT_GE(clock.slept(), std::chrono::seconds(3));
}

TEST_F(OciUploadTest, ALargeBlobGoesToAnotherServerWithoutCredentials) {
  UploadServer server;
  std::vector<http::Request> elsewhere;
  server.registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
    const std::string at = "https://files.example/upload";
    if (request.url.starts_with(at)) {
      elsewhere.push_back(request);
      if (request.method == "PUT") return status_only(201);
      return http::Response{.status = 202, .headers = {{"Location", at + "?part=2"}}, .body = {}};
    }
    if (request.method != "POST") return std::nullopt;
    if (authorization_of(request) == "none")
      return http::Response{
          .status = 401, .headers = {{"WWW-Authenticate", "Basic realm=\"r\""}}, .body = {}};
    return http::Response{.status = 202, .headers = {{"Location", at}}, .body = {}};
  };
  OciClient client = server.client(Login{.user = "alice", .password = SecretString("geheim")});
  const Status pushed = client.push_blob(kUploadedTo, artifact.blobs[1], Context());
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_line();
  ASSERT_EQ(elsewhere.size(), 2u);
  EXPECT_EQ(elsewhere[0].method, "PATCH");
  EXPECT_EQ(elsewhere[0].body, kUploadedModule);
  EXPECT_TRUE(elsewhere[1].url.starts_with("https://files.example/upload?part=2&digest="))
      << elsewhere[1].url;
  for (const http::Request& request : elsewhere) EXPECT_EQ(authorization_of(request), "none");
}

// A layout with the module, as the source of a copy.
class OciUploadOfFileTest : public OciUploadTest {
 protected:
  void SetUp() override {
    const Path place = directory_.path() / "layout";
    {
      const auto writer = LayoutWriter::open(files, place, Context());
      ASSERT_TRUE(writer.ok()) << writer.error().to_line();
      ASSERT_TRUE((*writer)->push_blob(kUploadedTo, artifact.blobs[1], Context()).ok());
      ASSERT_TRUE((*writer)->finish().ok());
    }
    auto opened = LayoutReader::open(*directory_layout(files, place), "layout");
    ASSERT_TRUE(opened.ok()) << opened.error().to_line();
    reader_ = *std::move(opened);
    file = reader_->file_of(layer()).value_or(FilePart()).path;
    ASSERT_TRUE(files.exists(file));
  }
  Result<Moved> copy() {
    OciClient client = server.client();
    return client.take_blob(*reader_, kUploadedTo, kUploadedTo, layer(), 1 << 20, Context());
  }
  /// Does that when the registry is asked for the first time by that method.
  void meanwhile(std::string method, std::function<void()> act) {
    server.registry.before = [this, method = std::move(method), act = std::move(act), done = false,
                              served = server.registry.before](const http::Request& request) mutable {
      if (request.method == method && !std::exchange(done, true)) act();
      return served(request);
    };
  }

  HostFileSystem files;
  Path file;
  UploadServer server;

 private:
  mist::testing::TempDir directory_;
  std::unique_ptr<LayoutReader> reader_;
};

TEST_F(OciUploadOfFileTest, IsReadFromThere) {
  const auto moved = copy();
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  EXPECT_EQ(server.registry.blobs.at(layer().digest.str()), kUploadedModule);
  EXPECT_THAT(server.ranges, ElementsAre("all"));
}

TEST_F(OciUploadOfFileTest, IsReadFromThereInChunks) {
  server.takes_all = false;
  const auto moved = copy();
  ASSERT_TRUE(moved.ok()) << moved.error().to_line();
  EXPECT_EQ(server.registry.blobs.at(layer().digest.str()), kUploadedModule);
  EXPECT_THAT(server.ranges, ElementsAre("all", "0-2", "3-5", "6-7"));
}

TEST_F(OciUploadOfFileTest, ADamagedFileIsNeverMadeABlobOfTheRegistry) {
  for (const std::string& bytes : {std::string(kUploadedModule.size(), 'x'), std::string("x")}) {
    ASSERT_TRUE(files.write(file, bytes).ok());
    const auto damaged = copy();
    ASSERT_FALSE(damaged.ok());
    EXPECT_EQ(damaged.error().kind, ErrorKind::Conflict);
  }
  EXPECT_EQ(server.count_of("PUT"), 0u);
}

TEST_F(OciUploadOfFileTest, AFileThatChangesMeanwhileIsNeverMadeABlobOfTheRegistry) {
  meanwhile("PATCH",
            [this] { ASSERT_TRUE(files.write(file, std::string(kUploadedModule.size(), 'x')).ok()); });
  const auto changed = copy();
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(server.count_of("PUT"), 0u);
}

TEST_F(OciUploadOfFileTest, AFileThatBecomesShorterMeanwhileIsNeverMadeABlobOfTheRegistry) {
  meanwhile("POST", [this] { std::filesystem::resize_file(file, 3); });
  const auto changed = copy();
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(server.count_of("PUT"), 0u);
}

TEST_F(OciUploadTest, AnUploadAtOnceThatBreaksOffGoesOnInChunks) {
  const auto break_in_the_middle = [] {
    return [broken = false](const http::Request& request,
                            std::string& arrived) mutable -> std::optional<http::Response> {
      if (std::exchange(broken, true)) return std::nullopt;
      arrived = request.body.substr(0, 4);
      return status_only(502);
    };
  };
  UploadServer server(break_in_the_middle());
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all", "4-6", "7-7"));
  EXPECT_EQ(server.count_of("POST"), 1u);

  UploadServer old(break_in_the_middle());
  old.ends_when_lost = true;
  EXPECT_EQ(push(old), "");
  EXPECT_THAT(old.ranges, ElementsAre("all", "0-2", "3-5", "6-7"));
  EXPECT_EQ(old.count_of("POST"), 2u);
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
  server.takes_all = false;
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all", "0-2", "3-5", "4-6", "7-7"));
  EXPECT_EQ(server.count_of("POST"), 1u);
}

// Only a part that arrives in whole, or not at all, leaves a place where such a registry goes on.
TEST_F(OciUploadTest, AnUploadOfWhichTheRegistryTellsNothingIsBegunAgain) {
  UploadServer server(break_inside_second_part());
  server.takes_all = false;
  server.ends_when_lost = true;
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all", "0-2", "3-5", "0-2", "3-5", "6-7"));
  EXPECT_EQ(server.count_of("POST"), 2u);

  UploadServer between(
      [broken = false](const http::Request&, std::string& arrived) mutable -> std::optional<http::Response> {
        if (arrived.size() != 3 || std::exchange(broken, true)) return std::nullopt;
        return status_only(502);
      });
  between.takes_all = false;
  between.ends_when_lost = true;
  EXPECT_EQ(push(between), "");
  EXPECT_THAT(between.ranges, ElementsAre("all", "0-2", "3-5", "3-5", "6-7"));
  EXPECT_EQ(between.count_of("POST"), 1u);
}

TEST_F(OciUploadTest, AnUploadThatNeverGetsOnIsGivenUp) {
  UploadServer server([](const http::Request&, std::string& arrived) -> std::optional<http::Response> {
    if (arrived.size() < 3) return std::nullopt;
    return status_only(503);
  });
  server.takes_all = false;
  OciClient client = server.client();
  const Status pushed = client.push_blob(kUploadedTo, artifact.blobs[1], Context());
  ASSERT_FALSE(pushed.ok());
  EXPECT_EQ(pushed.error().kind, ErrorKind::Retryable);
  EXPECT_LE(server.ranges.size(), 8u) << "not for ever";
}

// Whether it breaks off after the byte, or says that it took no more.
TEST_F(OciUploadTest, AnUploadThatGetsOnByAByteAtATimeIsGivenUp) {
  const std::string bytes(1000, 'x');
  const oci::Blob blob{oci::descriptor_of("application/octet-stream", bytes), bytes};
  for (const int status : {202, 502}) {
    std::size_t arrived = 1, asked = 0;
    MemoryRegistry registry;
    registry.before = [&](const http::Request& request) -> std::optional<http::Response> {
      if (request.url.find("/blobs/uploads/") == std::string::npos) return std::nullopt;
      const bool is_part = request.method == "PATCH";
      if (is_part) ++arrived, ++asked;
      return http::Response{.status = is_part ? status : 202,
                            .headers = {{"Location", "/v2/team/shop/blobs/uploads/1"},
                                        {"Range", fmt::format("0-{}", arrived - 1)}},
                            .body = {}};
    };
    OciClient client = UploadServer::client(registry.web, std::nullopt, 100);
    const Status pushed = client.push_blob(kUploadedTo, blob, Context());
    ASSERT_FALSE(pushed.ok());
    EXPECT_EQ(pushed.error().kind, ErrorKind::Retryable);
    EXPECT_THAT(pushed.error().to_line(), ::testing::HasSubstr("of its 1000 bytes arrived"));
    EXPECT_LE(asked, 100u) << status;
  }
}

TEST_F(OciUploadTest, AnUploadThatGetsOnByAPartOfAChunkAtATimeArrives) {
  UploadServer server(
      [](const http::Request& request, std::string& arrived) -> std::optional<http::Response> {
        if (request.method != "PATCH" || request.body.size() < 3) return std::nullopt;
        arrived += request.body.substr(0, 2);
        return status_only(502);
      });
  EXPECT_EQ(push(server), "");
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

// GHCR: https://github.com/oras-project/rust-oci-client/pull/37
TEST_F(OciUploadTest, ARegistryWhoseChunksAreSmallerGetsTheWhole) {
  UploadServer server([broken = false](const http::Request& request,
                                       std::string& arrived) mutable -> std::optional<http::Response> {
    if (request.method != "PATCH") return std::nullopt;
    if (!std::exchange(broken, true)) {
      arrived = request.body.substr(0, 2);
      return status_only(502);
    }
    if (http::find_header(request.headers, "Content-Range").empty()) return std::nullopt;
    return http::Response{
        .status = 416,
        .headers = {},
        .body = R"({"errors":[{"code":"REQUESTED_RANGE_NOT_SATISFIABLE","message":"the request body is too )"
                R"(large and exceeds the maximum permissible limit of 4.00MiB"}]})"};
  });
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all", "2-4")) << "then the PUT has all";
}

TEST_F(OciUploadTest, ChunksAreAsLargeAsTheRegistryWantsThem) {
  UploadServer server;
  server.takes_all = false;
  server.least_chunk = "5";
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all", "0-4", "5-7"));
  server.ranges.clear();
  server.registry.blobs.clear();
  server.least_chunk = "18446744073709551615";
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all", "0-7"));
  server.ranges.clear();
  server.registry.blobs.clear();
  server.least_chunk = "-1";
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all", "0-2", "3-5", "6-7"));
}

TEST_F(OciUploadTest, ARegistryThatPutsChunksTogetherWronglyGetsTheWhole) {
  UploadServer server(
      [](const http::Request& request, std::string& arrived) -> std::optional<http::Response> {
        if (request.method == "PATCH" && arrived.size() == 3) arrived = "???";
        return std::nullopt;
      });
  server.takes_all = false;
  EXPECT_EQ(push(server), "");
  EXPECT_EQ(server.count_of("PUT"), 2u);
}

// https://github.com/aws/containers-roadmap/issues/2831
TEST_F(OciUploadTest, ARangeThatStaysBehindIsNotBelieved) {
  UploadServer server;
  server.takes_all = false;
  server.range_sticks = true;
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all", "0-2", "3-5", "6-7"));
}

TEST_F(OciUploadTest, WhatARegistryDidNotTakeIsSentInChunks) {
  UploadServer server([is_short = true](const http::Request& request,
                                        std::string& arrived) mutable -> std::optional<http::Response> {
    if (!std::exchange(is_short, false)) return std::nullopt;
    arrived = request.body.substr(0, 4);
    http::Response taken = status_only(202);
    taken.headers = {{"Location", "/v2/team/shop/blobs/uploads/1?at=4"}, {"Range", "0-3"}};
    return taken;
  });
  EXPECT_EQ(push(server), "");
  EXPECT_THAT(server.ranges, ElementsAre("all", "4-6", "7-7"));
}

}  // namespace
}  // namespace mist::registry
