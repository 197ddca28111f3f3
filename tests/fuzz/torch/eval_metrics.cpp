#include "kith/run/eval_metrics.h"

#include "tests/fuzz/harness.h"
#include "tests/fuzz/torch/run_files.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  return {R"({"recall_any@1":0.5,"rho":null,"checkpoint":{"name":"last","epoc)"
          R"(h":2,"step":4,"file":"checkpoints/last.safetensors"},"data":"of )"
          R"(the run","protocol":{"name":"standard","split":"test","queries":)"
          R"(8,"gallery":8,"queries_without_positives":0,"self":"excluded by )"
          R"(index","rules":"8 queries","similarity":"cosine","ties":"lower i)"
          R"(ndex first","without_positives":"left out","intervals":"95%, 20 )"
          R"(resamples"},"intervals":{"recall_any@1":[0.25,0.875]},"definitio)"
          R"(ns":{"recall_any@k":"x"},"published":{"source":"a paper","recall)"
          R"(_any@1":0.6},"corruptions":{"jpeg":{"recall_any@1":0.5}},"compre)"
          R"(ssed":{"int8":{"bytes":4,"metrics":{"recall_any@1":0.5}}},"reran)"
          R"(ked":{"by":"query_expansion:k=5","recall_any@1":0.5,"intervals":)"
          R"({"recall_any@1":[0.1,0.9]}},"threshold":{"value":-1.0,"interval")"
          R"(:[-1.0,1.0],"wanted":"precision=0.1","meaning":"x","picked_on":")"
          R"(the test split","same_images":true,"far":1.0,"tar":1.0,"auroc":0)"
          R"(.5,"auprc":0.4,"precision":0.5,"coverage":1.0,"fpir":1.0,"tpir":)"
          R"(1.0,"intervals":{"far":[1.0,1.0]},"classes":2,"positive_pairs":1)"
          R"(2,"negative_pairs":16,"queries":8,"unknown_classes":1,"mated":4,)"
          R"("non_mated":4,"resamples":20,"resampled":"classes","seed":0,"not)"
          R"(es":["x"],"curve":{"threshold":[-1.0,1.0],"far":[1.0,1.0],"tar":)"
          R"([1.0,1.0],"precision":[0.5,0.5],"coverage":[1.0,1.0],"fpir":[1.0)"
          R"(,1.0],"tpir":[1.0,1.0]}}})"};
}

void read(std::string_view bytes) { read_eval_metrics(as_file(bytes)); }

const AddHarness kAdd(
    {.name = "eval_metrics",
     .read = read,
     .seeds = seeds,
     .words = {"\"protocol\":", "\"intervals\":", "\"published\":",
               "\"corruptions\":", "\"compressed\":", "\"reranked\":",
               "\"threshold\":", "null", "1e999", "-1", "[", "]", "{}"}});

}  // namespace
}  // namespace kith
