// Small files of a run and of its evaluations.
#include "kith/run/diagnostics_file.h"
#include "kith/run/run_changes.h"
#include "kith/run/threshold_file.h"
#include "tests/fuzz/harness.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

const AddHarness kChanges(
    {.name = "run_changes",
     .read =
         [](std::string_view bytes) {
           const auto changes = read_run_changes(as_file(bytes));
           for (const RunChange& change : changes) {
             moves_the_end(change);
             keeps_the_numbers(change);
           }
           static const TempDir dir;
           write_run_changes(dir.file("changes.json"), changes);
           read_run_changes(dir.file("changes.json"));
         },
     .seeds =
         [] {
           return std::vector<std::string>{
               R"([{"epoch":30,"step":1200,"key":"train.epochs","old":"30",)"
               R"("new":"60"},{"epoch":31,"step":1300,"key":"threads",)"
               R"("old":"","new":"2"}])"};
         },
     .words = {"\"epoch\":", "\"key\":", "\"old\":", "null", "-1", "{}", "["}});

const AddHarness kThreshold(
    {.name = "threshold",
     .read =
         [](std::string_view bytes) {
           const ThresholdFile file = read_threshold_file(as_file(bytes));
           static const TempDir dir;
           write_threshold_file(dir.file("threshold.json"), file);
           read_threshold_file(dir.file("threshold.json"));
         },
     .seeds =
         [] {
           return std::vector<std::string>{
               R"({"version":1,"threshold":0.5123,"wanted":"far=0.001",)"
               R"("picked_on":"validation","model":"/a/\\xff","model_bytes":)"
               R"("2f612fff","model_hash":"5fec","checkpoint":"last",)"
               R"("descriptor":""})"};
         },
     .words = {"\"threshold\":", "\"model_bytes\":", "null", "1e999", "-1"}});

const AddHarness kDuplicates(
    {.name = "near_duplicates",
     .read =
         [](std::string_view bytes) { read_near_duplicates(as_file(bytes)); },
     .seeds =
         [] {
           return std::vector<std::string>{
               R"({"queries":3,"near_duplicates":{"rule":"alike","count":2,)"
               R"("test_images":1,"train_images":2,"listed":1,"pairs":[)"
               R"({"distance":3,"train":"a.png","train_class":"x",)"
               R"("test":"b.png","test_class":"y"}]}})"};
         },
     .words = {"\"pairs\":", "\"train\":", "\"test_bytes\":", "null", "-1"}});

}  // namespace
}  // namespace kith
