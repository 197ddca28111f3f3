#include "kith/index/faiss_file.h"

#include <cstdint>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/index/flat_file.h"

namespace kith {
namespace {

constexpr uint64_t kMaxBits = 16;

/// Reads one value after another.
class Cursor {
 public:
  explicit Cursor(const FileReader& file) : file_(file) {}

  template <class T>
  T next() {
    T value{};
    file_.read_at(at_, &value, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  std::string mark() {
    std::string four(4, '\0');
    file_.read_at(at_, four.data(), four.size());
    at_ += four.size();
    return four;
  }

  /// Checks the length of a vector, which is in front of it, and leaves the
  /// cursor at its first element.
  uint64_t length(size_t element_bytes) {
    const auto count = next<uint64_t>();
    expect(count <= left() / element_bytes, "a list is longer than the file");
    return count;
  }

  /// Steps over a vector; returns its length.
  uint64_t skip(size_t element_bytes) {
    const uint64_t count = length(element_bytes);
    at_ += count * element_bytes;
    return count;
  }

  std::vector<uint64_t> sizes() {
    std::vector<uint64_t> values(length(sizeof(uint64_t)));
    file_.read_at(at_, values.data(), values.size() * sizeof(uint64_t));
    at_ += values.size() * sizeof(uint64_t);
    return values;
  }

  /// Steps over a flat index that must be of this size.
  void skip_flat(int64_t dim, uint64_t count) {
    const FlatHeader flat = read_flat_header(file_, at_);
    expect(flat.dim == dim && static_cast<uint64_t>(flat.count) == count,
           "its parts are of different sizes");
    at_ = flat.end;
  }

  uint64_t left() const { return file_.size() - at_; }

  void expect(bool is_right, const std::string& otherwise) const {
    if (is_right) return;
    throw DataError(file_.path() + ": damaged index of faiss: " + otherwise);
  }

 private:
  const FileReader& file_;
  uint64_t at_ = 0;
};

struct Header {
  int64_t dim = 0;
  uint64_t count = 0;
};

Header read_header(Cursor& cursor) {
  Header header;
  header.dim = cursor.next<int32_t>();
  const auto count = cursor.next<int64_t>();
  cursor.next<int64_t>();  // unused
  cursor.next<int64_t>();
  const auto trained = cursor.next<uint8_t>();
  const auto metric = cursor.next<int32_t>();
  cursor.expect(header.dim > 0 && header.dim <= kMaxIndexDim && count >= 0,
                "dimension " + std::to_string(header.dim) + ", " +
                    std::to_string(count) + " vectors");
  cursor.expect(trained == 1, "it is not trained");
  cursor.expect(metric == 0, "metric " + std::to_string(metric) +
                                 "; kith searches by inner product (0)");
  header.count = static_cast<uint64_t>(count);
  return header;
}

/// Levels, links, and the vectors as a flat index.
void check_hnsw(Cursor& cursor) {
  const Header header = read_header(cursor);
  cursor.skip(sizeof(double));  // probabilities of levels
  cursor.skip(sizeof(int32_t));
  const uint64_t levels = cursor.skip(sizeof(int32_t));
  const uint64_t offsets = cursor.skip(sizeof(uint64_t));
  cursor.skip(sizeof(int32_t));  // links
  cursor.expect(levels == header.count && offsets == header.count + 1,
                "its lists are of different lengths");
  for (int i = 0; i < 5; ++i) cursor.next<int32_t>();
  cursor.skip_flat(header.dim, header.count);
  cursor.expect(cursor.left() == 0, "there is more behind its end");
}

struct Codes {
  uint64_t lists = 0;
  uint64_t bytes = 0;  ///< Of a vector.
};

/// The lists' sizes, all ("full") or those that are not empty ("sprs"), and
/// then codes and positions of each.
void check_lists(Cursor& cursor, const Codes& codes, uint64_t count) {
  cursor.expect(cursor.mark() == "ilar", "its lists are of an unknown kind");
  cursor.expect(cursor.next<uint64_t>() == codes.lists &&
                    cursor.next<uint64_t>() == codes.bytes,
                "its parts are of different sizes");
  const std::string form = cursor.mark();
  cursor.expect(form == "full" || form == "sprs",
                "its lists are of an unknown kind");
  const bool full = form == "full";
  const std::vector<uint64_t> sizes = cursor.sizes();
  cursor.expect(full ? sizes.size() == codes.lists : sizes.size() % 2 == 0,
                "its lists have no sizes");
  const uint64_t vector_bytes = codes.bytes + sizeof(int64_t);
  uint64_t room = cursor.left() / vector_bytes;
  uint64_t total = 0;
  for (size_t i = full ? 0 : 1; i < sizes.size(); i += full ? 1 : 2) {
    cursor.expect(full || sizes[i - 1] < codes.lists, "it has a list too many");
    cursor.expect(sizes[i] <= room, "a list is longer than the file");
    room -= sizes[i];
    total += sizes[i];
  }
  cursor.expect(total == count && total * vector_bytes == cursor.left(),
                "its lists do not hold its vectors");
}

/// Centres of lists as a flat index, no table of positions, centres of
/// subvectors, and the lists.
void check_ivf_pq(Cursor& cursor) {
  const Header header = read_header(cursor);
  Codes codes;
  codes.lists = cursor.next<uint64_t>();
  const auto probes = cursor.next<uint64_t>();
  cursor.expect(probes > 0 && probes <= codes.lists,
                "its probes are none, or more than its lists");
  cursor.skip_flat(header.dim, codes.lists);
  cursor.expect(cursor.next<uint8_t>() == 0 && cursor.next<uint64_t>() == 0,
                "it has a table of positions, which kith does not read");
  cursor.expect(cursor.next<uint8_t>() <= 1,
                "its codes are of an unknown kind");
  codes.bytes = cursor.next<uint64_t>();
  const auto dim = cursor.next<uint64_t>();
  const auto subvectors = cursor.next<uint64_t>();
  const auto bits = cursor.next<uint64_t>();
  cursor.expect(dim == static_cast<uint64_t>(header.dim) && subvectors > 0 &&
                    subvectors <= dim && dim % subvectors == 0 && bits > 0 &&
                    bits <= kMaxBits &&
                    codes.bytes == (subvectors * bits + 7) / 8,
                "its codes do not fit its dimension");
  cursor.expect(cursor.skip(sizeof(float)) == dim << bits,
                "its centres do not fit its codes");
  check_lists(cursor, codes, header.count);
}

}  // namespace

void check_faiss_file(const std::string& path) {
  const FileReader file(path);
  Cursor cursor(file);
  const std::string mark = cursor.mark();
  if (mark == "IHNf") {
    check_hnsw(cursor);
  } else {
    cursor.expect(mark == "IwPQ", "it is of a kind that kith does not read");
    check_ivf_pq(cursor);
  }
}

}  // namespace kith
