#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace kith {

struct TsneOptions {
  double perplexity = 30;  ///< Neighbours that count; less for few points.
  int64_t iterations = 600;
  int64_t exaggerated = 200;  ///< Of them, with attraction twelve times as
                              ///< strong, so that clusters form.
};

using PlanePoint = std::array<double, 2>;

/// A map of points to the plane that keeps near points together (van der Maaten
/// & Hinton, Visualizing Data using t-SNE, JMLR 2008), by its exact gradient.
///
/// Written here because the exact method is 200 lines, and a page shows no more
/// than a few thousand points, for which the approximations of libraries
/// (trees, interpolation) are not needed: 2000 points take seconds. It begins
/// at given places instead of random ones, and every sum has a fixed order, so
/// that the map is the same to the bit in every run, whatever the number of
/// threads.
///
/// `similarities` are [N, N] cosines by rows, of which the squared distances
/// are 2 - 2 s; `start` are N places, such as those of a principal component
/// analysis, whose scale does not matter. Of fewer than four points, or if all
/// start at one place, `start` is returned.
std::vector<PlanePoint> tsne(const std::vector<float>& similarities,
                             const std::vector<PlanePoint>& start,
                             const TsneOptions& options = {});

/// The joint probabilities p_ij = (p_j|i + p_i|j) / 2N, [N, N] by rows, where
/// p_j|i is a Gaussian around point i whose width gives its distribution the
/// perplexity. A point with more than that many others at distance zero has
/// their number as perplexity.
std::vector<double> tsne_affinities(const std::vector<float>& similarities,
                                    size_t count, double perplexity);

/// The divergence sum p log(p / q) of a map, and its gradient. Attraction is
/// `exaggeration` times as strong in the gradient. O(N^2).
double tsne_divergence(const std::vector<double>& affinities,
                       const std::vector<PlanePoint>& map);
std::vector<PlanePoint> tsne_gradient(const std::vector<double>& affinities,
                                      const std::vector<PlanePoint>& map,
                                      double exaggeration = 1.0);

}  // namespace kith
