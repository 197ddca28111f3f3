#include <filesystem>
#include <future>
#include <map>
#include <thread>

#include "kith/core/file_lock.h"
#include "kith/image/decode.h"
#include "kith/image/encode.h"
#include "tests/serve/served_files.h"
#include "tests/support/log_capture.h"
#include "tests/support/more_pictures.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace fs = std::filesystem;

class ChangesTest : public ServedFilesTest {
 protected:
  explicit ChangesTest(int64_t pictures_bytes = 1 << 20) {
    RouteOptions options = with_token("secret");
    options.allow_changes = true;
    options.pictures_bytes = pictures_bytes;
    changing_ = std::make_unique<Routes>(indexes_, metrics_, options);
  }

  HttpResponse ask(const std::string& method, const std::string& target,
                   const std::string& body = "",
                   const std::string& type = "image/png") {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.authorization = "Bearer secret";
    request.content_type = body.empty() ? "" : type;
    request.body = body;
    return ask_of(*changing_, request);
  }

  static std::string part(const std::string& name, const std::string& data) {
    return "--B\r\nContent-Disposition: form-data; name=\"" + name +
           "\"\r\n\r\n" + data + "\r\n";
  }

  HttpResponse post_form(const std::string& target, const std::string& parts) {
    return ask("POST", target, parts + "--B--\r\n",
               "multipart/form-data; boundary=B");
  }

  /// What a search with a picture finds first.
  Json nearest(int64_t seed) {
    const HttpResponse found = ask("POST", "/api/search?k=1", png(seed));
    return Json::parse(found.body).at("results").at(0);
  }

  StoredIndex on_disk() const { return StoredIndex::open(path_); }

  std::vector<std::string> kept() const {
    std::vector<std::string> names;
    const std::string folder = path_ + ".pictures";
    if (!fs::exists(folder)) return names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  std::unique_ptr<Routes> changing_;
};

TEST_F(ChangesTest, AddsAPictureThatIsFoundAtOnce) {
  const HttpResponse added =
      ask("POST", "/api/items?id=new-1&label=third", png(40));
  ASSERT_EQ(added.status, 201) << added.body;
  EXPECT_STREQ(added.route, "add_items");
  const Json item = Json::parse(added.body).at("items").at(0);
  EXPECT_EQ(item.at("id"), "new-1");
  EXPECT_EQ(item.at("position"), 12);
  const Json found = nearest(40);
  EXPECT_EQ(found.at("id"), "new-1");
  EXPECT_EQ(found.at("label"), "third");
  EXPECT_NEAR(found.at("similarity").get<double>(), 1, 1e-5);
  EXPECT_EQ(ask("GET", "/api/items/12/image").content_type, "image/jpeg");
  const Json same = Json::parse(ask("GET", "/api/items?id=new-1").body);
  EXPECT_EQ(same.at("position"), 12);
  // As it came, where nobody but the server said.
  EXPECT_EQ(read_file(item.at("path"), 1 << 20), png(40));
  EXPECT_EQ(on_disk().size(), 13);
  EXPECT_EQ(index().stats().added, 1);
}

TEST_F(ChangesTest, AddsAllPicturesOfAFormOrNone) {
  const HttpResponse added =
      post_form("/api/items", part("image", png(50)) + part("id", "a") +
                                  part("image", png(51)) + part("id", "b") +
                                  part("label", "x, \"y\""));
  ASSERT_EQ(added.status, 201) << added.body;
  EXPECT_THAT(Json::parse(added.body).at("items"), SizeIs(2));
  EXPECT_EQ(nearest(51).at("id"), "b");
  EXPECT_EQ(nearest(50).at("label"), "x, \"y\"");
  // Without an id it is made of the contents; the second is no picture.
  expect_refused(post_form("/api/items", part("image", png(52)) +
                                             part("image", "no picture")),
                 415);
  expect_refused(
      post_form("/api/items", part("image", png(52)) + part("image", png(52))),
      409, "two of the pictures");
  expect_refused(
      post_form("/api/items", part("image", png(52)) + part("id", "c") +
                                  part("image", png(53)) + part("id", "a")),
      409, "'a'");
  EXPECT_EQ(on_disk().size(), 14);
  EXPECT_THAT(kept(), SizeIs(2));
  const HttpResponse unnamed =
      post_form("/api/items?label=z", part("image", png(52)));
  ASSERT_EQ(unnamed.status, 201) << unnamed.body;
  EXPECT_THAT(Json::parse(unnamed.body)["items"][0]["id"].get<std::string>(),
              ::testing::MatchesRegex("[0-9a-f]+"));
  expect_refused(ask("POST", "/api/items", png(52)), 409);
}

TEST_F(ChangesTest, ReplacesAndRemoves) {
  ASSERT_EQ(ask("PUT", "/api/items?id=one&label=x", png(60)).status, 201);
  const HttpResponse put = ask("PUT", "/api/items?id=one", png(61));
  ASSERT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(Json::parse(put.body).at("label"), "");
  EXPECT_EQ(nearest(61).at("id"), "one");
  EXPECT_NE(nearest(60).at("id"), "one");
  EXPECT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(on_disk().size(), 13);
  // The same again keeps its file.
  ASSERT_EQ(ask("PUT", "/api/items?id=one", png(61)).status, 200);
  EXPECT_THAT(kept(), SizeIs(1));

  const HttpResponse gone = ask("DELETE", "/api/items?id=one");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(Json::parse(gone.body), Json({{"removed", 1}}));
  expect_refused(ask("DELETE", "/api/items?id=one"), 404, "'one'");
  EXPECT_THAT(kept(), SizeIs(0));
  EXPECT_EQ(on_disk().size(), 12);
  // An item that was there before is named by its path; its file stays.
  const std::string& file = small_.paths()[3];
  EXPECT_EQ(ask("DELETE", "/api/items?id=" + file).status, 200);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_EQ(on_disk().size(), 11);
  expect_refused(ask("GET", "/api/items/3"), 404);
}

TEST_F(ChangesTest, RefusesWhatItShould) {
  for (const char* id : {"..%5cx", "a%20b", "", ".a", "%c3%a9"}) {
    EXPECT_EQ(ask("PUT", std::string("/api/items?id=") + id, png(1)).status,
              400)
        << id;
  }
  expect_refused(ask("PUT", "/api/items?id=/etc/x.png", png(1)), 400,
                 "letters");
  expect_refused(ask("PUT", "/api/items", png(1)), 400, "'id' is needed");
  expect_refused(ask("DELETE", "/api/items"), 400, "'id' is needed");
  expect_refused(ask("DELETE", "/api/items?id=a", "body"), 400, "no body");
  expect_refused(ask("POST", "/api/items", "{}", "application/json"), 415);
  expect_refused(ask("POST", "/api/items?label=%ff", png(1)), 400, "UTF-8");
  expect_refused(ask("POST", "/api/items", png(1, 101, 100)), 413);
  expect_refused(ask("POST", "/api/items", png(1).substr(0, 90)), 400);
  expect_refused(post_form("/api/items", part("label", "x")), 400,
                 "no file 'image'");
  expect_refused(post_form("/api/items",
                           part("image", png(1)) + part("path", "/etc/passwd")),
                 400, "'path'");
  expect_refused(
      post_form("/api/items", part("image", png(1)) + part("label", "a\nb")),
      400, "one line");
  expect_refused(post_form("/api/items?id=a",
                           part("image", png(1)) + part("image", png(2))),
                 400, "as many ids");
  std::string many;
  for (int i = 0; i < 65; ++i) many += part("image", png(i, 8, 8));
  expect_refused(post_form("/api/items", many), 400, "at most 64");
  expect_refused(ask("PATCH", "/api/items"), 405);
  EXPECT_EQ(on_disk().size(), 12);
  EXPECT_THAT(kept(), SizeIs(0));
}

TEST_F(ChangesTest, AreAllowedOnlyWhereTheyWereAskedFor) {
  HttpRequest request;
  request.method = "DELETE";
  request.target = "/api/items?id=a";
  expect_refused(ask_of(*changing_, request), 401);
  request.authorization = "Bearer secret";
  Routes reading(indexes_, metrics_, with_token("secret"));
  expect_refused(ask_of(reading, request), 403, "does not let clients change");
  expect_refused(ask_of(routes_, request), 403);
}

class FewPictures : public ChangesTest {
 protected:
  FewPictures() : ChangesTest(std::ssize(png(70)) + std::ssize(png(71))) {}
};

TEST_F(FewPictures, AreAllThatIsKept) {
  EXPECT_EQ(ask("PUT", "/api/items?id=a", png(70)).status, 201);
  EXPECT_EQ(ask("PUT", "/api/items?id=b", png(71)).status, 201);
  expect_refused(ask("PUT", "/api/items?id=c", png(72)), 507);
  EXPECT_EQ(ask("DELETE", "/api/items?id=a").status, 200);
  EXPECT_EQ(on_disk().size(), 13);
}

TEST_F(ChangesTest, OfManyClientsAreAllThere) {
  constexpr int kClients = 8;
  constexpr int kEach = 6;
  std::vector<std::thread> clients;
  std::atomic<int> added = 0;
  std::atomic<int> removed = 0;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < kEach; ++i) {
        const std::string target =
            "/api/items?id=" + std::to_string(c) + "-" + std::to_string(i);
        added += ask("POST", target, png(100 + c * kEach + i)).status == 201;
        // All want the same one; one of them gets it.
        removed +=
            ask("DELETE", "/api/items?id=" + small_.paths()[0]).status == 200;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(added, kClients * kEach);
  EXPECT_EQ(removed, 1);
  EXPECT_EQ(on_disk().size(), 11 + kClients * kEach);
  EXPECT_THAT(kept(), SizeIs(kClients * kEach));
  // Together, not one by one.
  EXPECT_LT(index().stats().reloads, kClients * kEach);
}

TEST_F(ChangesTest, SeeWhatOtherProgramsChanged) {
  remove_on_disk(small_.paths()[5]);
  ASSERT_EQ(ask("POST", "/api/items?id=a", png(80)).status, 201);
  EXPECT_EQ(on_disk().size(), 12);
  expect_refused(ask("GET", "/api/items/5"), 404);
}

TEST_F(ChangesTest, WaitForAnotherProgram) {
  auto lock = lock_index(path_);
  auto answer = std::async(std::launch::async, [this] {
    return ask("POST", "/api/items?id=a", png(81)).status;
  });
  EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(300)),
            std::future_status::timeout);
  lock.reset();
  EXPECT_EQ(answer.get(), 201);
}

TEST_F(ChangesTest, SayThatADamagedIndexStaysAsItIs) {
  const LogCapture log;
  write_file(path_ + ".items.csv", "path,label\n");
  expect_refused(ask("POST", "/api/items?id=a", png(82)), 500,
                 "not be changed");
  EXPECT_THAT(kept(), SizeIs(0));
  EXPECT_THAT(log.warnings().back(), HasSubstr("items.csv"));
  EXPECT_EQ(nearest(3).at("position"), 3);  // of before
}

TEST_F(ChangesTest, TakeAllFormatsThatAreRead) {
  const auto jpeg = encode_jpeg(draw_scene(1, 48, 32), 90);
  const std::map<std::string, std::string> pictures = {
      {"JPEG", std::string(jpeg.begin(), jpeg.end())},
      {"PNG", png(1)},
      {"BMP", raw_bmp({.width = 2,
                       .height = 1,
                       .rows = "abcdef"
                               "\1\1"})},
      {"GIF", raw_gif({})},
      {"WebP", lossy_webp()},
      {"TIFF", raw_tiff({.width = 2, .height = 2, .pixels = "abcd"})}};
  for (const std::string& format : image_formats()) {
    const std::string& bytes = pictures.at(format);
    EXPECT_EQ(ask("POST", "/api/search", bytes, "image/x").status, 200)
        << format;
    const HttpResponse added = ask("POST", "/api/items?id=" + format, bytes);
    EXPECT_EQ(added.status, 201) << format << added.body;
    EXPECT_EQ(read_file(Json::parse(added.body)["items"][0]["path"], 1 << 20),
              bytes);
    const HttpResponse cut =
        ask("POST", "/api/search", bytes.substr(0, bytes.size() / 2));
    EXPECT_EQ(cut.status, 400) << format;
  }
}

}  // namespace
}  // namespace kith
