#include <filesystem>
#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include "tests/serve/routes_fixture.h"
#include "tests/support/log_capture.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(RoutesTest, GivesAnyItemThatIsNotRemoved) {
  const std::string one = get("/api/items/any").body;
  const auto position = Json::parse(one).at("position").get<int64_t>();
  EXPECT_EQ(one, get("/api/items/" + std::to_string(position)).body);

  const auto& paths = small_.paths();
  StoredIndex index = small_.index();
  index.remove(
      {paths[0], paths[1], paths[4], paths[5], paths[6], paths[8], paths[11]});
  const ServedIndexes indexes = served(service_, std::move(index));
  Routes routes(indexes, metrics_, {});
  std::map<int64_t, int> found;
  for (int i = 0; i < 500; ++i) {
    const HttpResponse response = get_of(routes, "/api/items/any");
    EXPECT_STREQ(response.route, "any_item");
    ++found[Json::parse(response.body).at("position").get<int64_t>()];
  }
  ASSERT_EQ(found.size(), 5U);
  for (const int64_t left : {2, 3, 7, 9, 10}) {
    EXPECT_GT(found[left], 40) << left;  // of 100 that are expected
  }
}

TEST_F(RoutesTest, SaysWhatIsBelowTheThreshold) {
  EXPECT_TRUE(Json::parse(get("/api/info").body).at("threshold").is_null());
  const Json plain = Json::parse(get("/api/items/5/similar?k=4").body);
  EXPECT_FALSE(plain.contains("accepted") || plain.contains("threshold"));
  const Json& found = plain.at("results");
  EXPECT_FALSE(found[0].contains("accepted"));
  const double second = found[1].at("similarity");
  ASSERT_GT(found[0].at("similarity").get<double>(), second);
  ASSERT_GT(second, found[2].at("similarity").get<double>());
  for (const auto& [threshold, count] :
       {std::pair(second, 2), std::pair(1.0, 0), std::pair(-1.0, 4)}) {
    SearchService service(SmallIndex::net(), small_limits());
    ServedIndexes indexes;
    indexes.push_back(std::make_unique<ServedIndex>(
        ServedIndexOptions{.name = "index",
                           .path = "",
                           .threshold = IndexThreshold{threshold}},
        small_.index(), FileMark{}, service));
    Routes routes(indexes, metrics_, {});
    EXPECT_EQ(Json::parse(get_of(routes, "/api/info").body).at("threshold"),
              threshold);
    const Json json =
        Json::parse(get_of(routes, "/api/items/5/similar?k=4").body);
    EXPECT_EQ(json.at("threshold"), threshold);
    EXPECT_EQ(json.at("accepted"), count > 0);
    ASSERT_EQ(json.at("results").size(), 4U);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(json.at("results")[static_cast<size_t>(i)].at("accepted"),
                i < count);
    }
  }
}

TEST_F(RoutesTest, SaysThatAnIndexIsEmpty) {
  StoredIndex index = small_.index();
  index.remove(small_.paths());
  const ServedIndexes indexes = served(service_, std::move(index));
  Routes routes(indexes, metrics_, {});
  expect_refused(get_of(routes, "/api/items/any"), 404, "the index is empty");
}

TEST_F(RoutesTest, ShowsItemsThatAreTooLargeToBeSent) {
  ServiceOptions options = small_limits();
  options.limits.max_pixels = 100;
  SearchService service(SmallIndex::net(), options);
  const ServedIndexes indexes = served(service, small_.index());
  Routes routes(indexes, metrics_, {});
  EXPECT_EQ(get_of(routes, "/api/items/2/image").status, 200);
  HttpRequest request;
  request.method = "POST";
  request.target = "/api/search";
  request.body = png(2);
  expect_refused(ask_of(routes, request), 413, "48 x 32");
}

/// Keeps no vectors, as some kinds of index do; one that is damaged cannot be
/// searched either.
class NoVectors final : public VectorIndex {
 public:
  explicit NoVectors(bool is_damaged) : is_damaged_(is_damaged) {}

  int64_t count() const override { return SmallIndex::kCount; }
  int64_t dim() const override { return 6; }
  void add(const Tensor&) override {}
  void save(const std::string&) const override {}
  Neighbours search(const Tensor& queries, int64_t k) const override {
    if (is_damaged_) throw DataError("/own/index: cannot be read");
    return {torch::arange(k).repeat({queries.size(0), 1}),
            torch::ones({queries.size(0), k})};
  }

 private:
  bool is_damaged_;
};

class OwnFiles : public RoutesTest {
 protected:
  HttpResponse ask_index(bool is_damaged, const std::string& target,
                         const std::string& body = "") {
    ItemTable items;
    for (const std::string& path : small_.paths()) items.add(path, "x");
    SearchService service(SmallIndex::net(), small_limits());
    const ServedIndexes indexes =
        served(service,
               StoredIndex(std::make_unique<NoVectors>(is_damaged), items, {}));
    Routes routes(indexes, metrics_, {});
    HttpRequest request;
    request.method = body.empty() ? "GET" : "POST";
    request.target = target;
    request.body = body;
    return ask_of(routes, request);
  }
};

TEST_F(OwnFiles, AreNotTheFaultOfWhoSearchesWithAnItem) {
  EXPECT_EQ(ask_index(false, "/api/items/3/similar?k=2").status, 200);
  const std::string path = small_.paths()[3];
  std::filesystem::remove(path);
  const LogCapture log;
  const HttpResponse gone = ask_index(false, "/api/items/3/similar?k=2");
  expect_refused(gone, 404, "the file of item 3");
  EXPECT_THAT(gone.body, Not(HasSubstr(path)));
  EXPECT_THAT(log.warnings(), Contains(HasSubstr(path)));
}

TEST_F(OwnFiles, AreNotTheFaultOfWhoSendsAPicture) {
  const LogCapture log;
  const HttpResponse failed = ask_index(true, "/api/search?k=2", png(1));
  expect_refused(failed, 500, "the server could not do this");
  EXPECT_THAT(failed.body, Not(HasSubstr("/own/index")));
  EXPECT_THAT(log.warnings(), Contains(HasSubstr("/own/index")));
}

}  // namespace
}  // namespace kith
