#include "kith/eval/batch_upload.h"

#include <utility>

#include <torch/torch.h>

#include "kith/models/embedding_net.h"
#include "kith/ops/gpu.h"
#include "kith/ops/jpeg_pixels.h"
#include "kith/ops/locked_pieces.h"

namespace kith {

std::shared_ptr<CodedPictures> CodedBatches::of(int64_t batch) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<CodedPictures>& coded = batches_[batch];
  if (!coded) coded = std::make_shared<CodedPictures>(weights_, locked_piece);
  return coded;
}

DataSet::TakeFile CodedBatches::taker(int64_t batch, int64_t position) {
  return [coded = of(batch), position](std::span<const uint8_t> bytes,
                                       const std::string& name) {
    return coded->take(bytes, name, position);
  };
}

std::shared_ptr<CodedPictures> CodedBatches::next() {
  const std::lock_guard lock(mutex_);
  const auto found = batches_.find(next_++);
  if (found == batches_.end()) return nullptr;
  std::shared_ptr<CodedPictures> coded = std::move(found->second);
  batches_.erase(found);
  return coded;
}

BatchUpload::BatchUpload(const Batch& batch,
                         std::shared_ptr<CodedPictures> coded,
                         const InputOptions& input, c10::Device device)
    : count_(batch.count()),
      size_(input.size),
      device_(device),
      coded_(std::move(coded)) {
  if (!batch.parts.empty()) {
    pixels_ = Upload(pixels_of(batch.parts.front()), device);
  }
  if (!coded_) return;
  for (const CodedPictures::Piece& piece : coded_->pieces()) {
    const Tensor bytes = torch::from_blob(
        piece.memory.get(), {static_cast<int64_t>(piece.used)}, torch::kByte);
    pieces_.emplace_back(bytes, device);
  }
}

Tensor BatchUpload::get() const {
  const auto bytes = torch::TensorOptions(torch::kByte).device(device_);
  const Tensor finished = pixels_.get();
  const Tensor pixels = finished.defined()
                            ? finished
                            : torch::empty({count_, size_, size_, 3}, bytes);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const CodedPictures::Piece& piece = coded_->pieces()[i];
    const Tensor data = pieces_[i].get();
    const Tensor samples =
        torch::empty({static_cast<int64_t>(piece.used / 2)}, bytes);
    const Tensor rows =
        torch::empty({static_cast<int64_t>(piece.row_bytes)}, bytes);
    JpegPictures all =
        CodedPictures::pictures_of(piece, data.data_ptr<uint8_t>());
    all.size = static_cast<int>(size_);
    all.samples = samples.data_ptr<uint8_t>();
    all.rows = rows.data_ptr<uint8_t>();
    all.pixels = pixels.data_ptr<uint8_t>();
    if (device_.is_cuda()) {
      gpu_jpeg.to_pixels(all, current_stream());
    } else {
      jpeg_to_pixels(all);
    }
  }
  return pixels;
}

void BatchUpload::wait() const {
  pixels_.wait();
  for (const Upload& piece : pieces_) piece.wait();
}

}  // namespace kith
