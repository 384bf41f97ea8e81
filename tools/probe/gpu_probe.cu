// Measures one NVIDIA GPU for `orrery calibrate`: matrix products in their three layouts, passes
// over memory, the host link, and the power that long runs settle at.
//
//   gpu_probe [--quick] > probe.csv        progress on stderr
//
// Short kernels are timed by CUDA events over a burst with pauses in between, so that the clock is
// at its maximum; `sustained` rows run for a second and read the board's power (NVML). Operands
// rotate over more memory than the cache holds. They are random, because zeros draw less power and
// allow a higher clock. Layouts: forward TN, dgrad NN, wgrad NT of C[m,n] = A[m,k] B[k,n], as in a
// linear layer. attention_probe.py next to this file measures attention: its speed depends on the
// library whose kernel runs, and a kernel written here would say little about it.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <nvml.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr double kBurstSeconds = 4e-3;  // length of one timed burst
constexpr double kSustainedSeconds = 1.2;  // long enough for the power controller to settle
constexpr size_t kRotation = 512ull << 20;  // bytes of operands to rotate over: several times the
                                            // cache
constexpr size_t kWorkspace = 64ull << 20;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "gpu_probe: %s failed\n", what);
  std::exit(1);
}
void check(cudaError_t e, const char* what) { check(e == cudaSuccess, what); }

// A hash of the index as a value in [-1, 1), scaled: cheap, and random enough for the power draw.
__global__ void fill_random(unsigned char* data, size_t elements, int width) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < elements;
       i += size_t(gridDim.x) * blockDim.x) {
    unsigned long long h = (i + 1) * 0x9E3779B97F4A7C15ull;
    h ^= h >> 31;
    h *= 0xBF58476D1CE4E5B9ull;
    h ^= h >> 27;
    const float v = (float(h >> 40) / float(1 << 23) - 1.0f) * 0.5f;
    if (width == 2) {
      reinterpret_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16(v);
    } else {
      reinterpret_cast<__nv_fp8_e4m3*>(data)[i] = __nv_fp8_e4m3(v);
    }
  }
}

__global__ void copy_pass(const uint4* from, uint4* to, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
       i += size_t(gridDim.x) * blockDim.x) {
    to[i] = from[i];
  }
}

struct Meter {
  nvmlDevice_t device{};
  bool good = false;

  Meter() {
    if (nvmlInit_v2() != NVML_SUCCESS) return;
    int ordinal = 0;
    cudaGetDevice(&ordinal);
    char bus[32];
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, ordinal) != cudaSuccess) return;
    good = nvmlDeviceGetHandleByPciBusId_v2(bus, &device) == NVML_SUCCESS;
  }
  double watts() const {
    unsigned milliwatts = 0;
    if (!good || nvmlDeviceGetPowerUsage(device, &milliwatts) != NVML_SUCCESS) return 0;
    return milliwatts / 1e3;
  }
};

struct Row {
  const char* op = "";
  const char* dtype = "";
  const char* pass = "";
  double m = 0, n = 0, k = 0;
  double batch = 0, q_heads = 0, kv_heads = 0, head_dim = 0, q_len = 0, kv_len = 0;
  double bytes = 0;  // bytes read and bytes written, each
};

struct Probe {
  cudaStream_t stream{};
  cudaEvent_t begin{}, end{};
  Meter meter;
  std::string gpu;
  bool quick = false;

  // Runs `launch(i)` for i = 0, 1, ... and returns the median of three bursts.
  double burst(const std::function<void(int)>& launch) {
    launch(0);
    launch(1);
    check(cudaStreamSynchronize(stream), "warm-up");
    const double once = timed(launch, 2) / 2;
    const int repeats = int(std::clamp(kBurstSeconds / std::max(once, 1e-7), 3.0, 2000.0));
    std::vector<double> bursts;
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(quick ? 5 : 15));
      bursts.push_back(timed(launch, repeats) / repeats);
    }
    std::sort(bursts.begin(), bursts.end());
    return bursts[1];
  }
  double timed(const std::function<void(int)>& launch, int repeats) {
    check(cudaEventRecord(begin, stream), "event");
    for (int i = 0; i < repeats; ++i) launch(i);
    check(cudaEventRecord(end, stream), "event");
    check(cudaEventSynchronize(end), "kernel");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "event");
    return ms * 1e-3;
  }
  // Returns seconds per launch in the second half of a long run, and sets its mean power in watts.
  double sustained(const std::function<void(int)>& launch, double once, double& watts) {
    const int chunk = std::max(1, int(0.05 / once));
    double elapsed = 0, seconds = 0, energy = 0;
    int launches = 0;
    while (elapsed < kSustainedSeconds) {
      const double t = timed(launch, chunk);
      elapsed += t;
      if (elapsed < kSustainedSeconds / 2) continue;
      seconds += t;
      energy += t * meter.watts();
      launches += chunk;
    }
    watts = energy / seconds;
    return seconds / launches;
  }
  void print(const Row& r, double seconds, bool is_sustained, double watts) {
    std::printf("%s,%s,%s,%s,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.6g,%d,%.1f\n",
                gpu.c_str(), r.op, r.dtype, r.pass, r.m, r.n, r.k, r.batch, r.q_heads, r.kv_heads,
                r.head_dim, r.q_len, r.kv_len, r.bytes, seconds, is_sustained ? 1 : 0, watts);
    std::fflush(stdout);
  }
  void measure(const Row& r, const std::function<void(int)>& launch, bool also_sustained) {
    const double once = burst(launch);
    print(r, once, false, 0);
    if (!also_sustained) return;
    double watts = 0;
    const double settled = sustained(launch, once, watts);
    print(r, settled, true, watts);
  }
};

unsigned char* random_buffer(size_t elements, int width) {
  unsigned char* data = nullptr;
  check(cudaMalloc(&data, elements * width), "allocation");
  fill_random<<<1024, 256>>>(data, elements, width);
  check(cudaDeviceSynchronize(), "fill");
  return data;
}

// C[m,n] = A[m,k] B[k,n] as a layer calls it. In the library's column-major view the result is n x
// m.
struct Product {
  cublasLtMatmulDesc_t op{};
  cublasLtMatrixLayout_t a{}, b{}, c{};
  cublasLtMatmulAlgo_t algorithm{};
  bool found = false;

  Product(cublasLtHandle_t handle, size_t m, size_t n, size_t k, bool fp8, const char* pass,
          const float* scale) {
    const cudaDataType_t type = fp8 ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
    const bool forward = !std::strcmp(pass, "forward"), wgrad = !std::strcmp(pass, "wgrad");
    const cublasOperation_t ta = forward ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t tb = wgrad ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta);
    cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb);
    if (fp8) {
      cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &scale, sizeof scale);
      cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &scale, sizeof scale);
    }
    cublasLtMatrixLayoutCreate(&a, type, forward ? k : n, forward ? n : k, forward ? k : n);
    cublasLtMatrixLayoutCreate(&b, type, wgrad ? m : k, wgrad ? k : m, wgrad ? m : k);
    cublasLtMatrixLayoutCreate(&c, CUDA_R_16BF, n, m, n);
    cublasLtMatmulPreference_t preference{};
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &kWorkspace, sizeof kWorkspace);
    cublasLtMatmulHeuristicResult_t best{};
    int count = 0;
    cublasLtMatmulAlgoGetHeuristic(handle, op, a, b, c, c, preference, 1, &best, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    found = count > 0;
    algorithm = best.algo;
  }
  ~Product() {
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(c);
    cublasLtMatmulDescDestroy(op);
  }
};

struct Shape {
  size_t n, k;
};

void probe_products(Probe& p, bool fp8) {
  cublasLtHandle_t handle{};
  check(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cublasLt");
  const int width = fp8 ? 1 : 2;
  const std::vector<Shape> shapes =
      p.quick ? std::vector<Shape>{{6144, 4096}, {4096, 14336}, {8192, 1024}}
              : std::vector<Shape>{{1024, 1024}, {2048, 2048},  {4096, 4096},  {6144, 4096},
                                   {28672, 4096}, {4096, 14336}, {8192, 8192},  {10240, 8192},
                                   {57344, 8192}, {8192, 28672}, {1280, 8192},  {8192, 1024},
                                   {7168, 8192},  {8192, 3584},  {4608, 12288}, {7168, 2048},
                                   {2048, 7168},  {32768, 1024}};
  const std::vector<size_t> rows = p.quick ? std::vector<size_t>{16, 256, 4096}
                                           : std::vector<size_t>{16,   32,   64,   128,  192,  256,
                                                                 384,  512,  768,  1024, 1536, 2048,
                                                                 3072, 4096, 8192, 16384};
  const size_t largest = 57344ull * 8192;
  const size_t elements = std::max(kRotation / width, largest);
  unsigned char* left = random_buffer(16384ull * 28672, width);
  unsigned char* right = random_buffer(elements, width);
  unsigned char* out = nullptr;
  check(cudaMalloc(&out, 16384ull * 57344 * 2), "allocation");
  void* workspace = nullptr;
  check(cudaMalloc(&workspace, kWorkspace), "allocation");
  float one = 1, zero = 0;
  float* scale = nullptr;
  check(cudaMalloc(&scale, sizeof one), "allocation");
  check(cudaMemcpy(scale, &one, sizeof one, cudaMemcpyHostToDevice), "copy");
  const std::vector<const char*> passes =
      fp8 ? std::vector<const char*>{"forward"}
          : std::vector<const char*>{"forward", "dgrad", "wgrad"};
  for (const Shape& s : shapes) {
    std::fprintf(stderr, "products n %zu k %zu %s\n", s.n, s.k, fp8 ? "fp8" : "bf16");
    const size_t copies = std::max<size_t>(1, elements / (s.n * s.k));
    for (const size_t m : rows) {
      for (const char* pass : passes) {
        const Product product(handle, m, s.n, s.k, fp8, pass, scale);
        if (!product.found) continue;
        const auto launch = [&](int i) {
          const unsigned char* weights = right + (size_t(i) % copies) * s.n * s.k * width;
          cublasLtMatmul(handle, product.op, &one, weights, product.a, left, product.b, &zero, out,
                         product.c, out, product.c, &product.algorithm, workspace, kWorkspace,
                         p.stream);
        };
        Row r;
        r.op = "gemm";
        r.dtype = fp8 ? "fp8" : "bf16";
        r.pass = pass;
        r.m = double(m), r.n = double(s.n), r.k = double(s.k);
        const bool large = m >= 4096 && s.n * s.k >= 8192ull * 8192 && pass == passes[0];
        p.measure(r, launch, large);
      }
    }
  }
  for (void* buffer : {static_cast<void*>(left), static_cast<void*>(right), static_cast<void*>(out),
                       workspace, static_cast<void*>(scale)}) {
    cudaFree(buffer);
  }
  cublasLtDestroy(handle);
}

void probe_passes(Probe& p) {
  const size_t most = 4ull << 30;
  unsigned char *from = nullptr, *to = nullptr;
  check(cudaMalloc(&from, most), "allocation");
  check(cudaMalloc(&to, most), "allocation");
  check(cudaMemset(from, 7, most), "fill");
  for (size_t bytes = 256 << 10; bytes <= (p.quick ? most / 8 : most); bytes *= 4) {
    std::fprintf(stderr, "pass %zu KiB\n", bytes >> 10);
    const size_t copies = std::max<size_t>(1, std::min<size_t>(64, most / bytes));
    Row r;
    r.op = "pass";
    r.bytes = double(bytes);
    p.measure(
        r,
        [&](int i) {
          const size_t at = (size_t(i) % copies) * bytes;
          copy_pass<<<1056, 512, 0, p.stream>>>(reinterpret_cast<const uint4*>(from + at),
                                                reinterpret_cast<uint4*>(to + at), bytes / 16);
        },
        bytes >= (1ull << 30));
  }
  cudaFree(from);
  cudaFree(to);
}

void probe_host_link(Probe& p) {
  const size_t most = 256ull << 20;
  void *host = nullptr, *device = nullptr;
  check(cudaMallocHost(&host, most), "pinned memory");
  check(cudaMalloc(&device, most), "allocation");
  for (const char* op : {"h2d", "d2h"}) {
    for (size_t bytes = 1 << 20; bytes <= most; bytes *= 16) {
      const bool up = !std::strcmp(op, "h2d");
      Row r;
      r.op = op;
      r.bytes = double(bytes);
      p.measure(
          r,
          [&](int) {
            cudaMemcpyAsync(up ? device : host, up ? host : device, bytes,
                            up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, p.stream);
          },
          false);
    }
  }
  cudaFreeHost(host);
  cudaFree(device);
}

}  // namespace

int main(int count, char** words) {
  Probe p;
  for (int i = 1; i < count; ++i) p.quick |= !std::strcmp(words[i], "--quick");
  check(cudaStreamCreate(&p.stream), "stream");
  check(cudaEventCreate(&p.begin), "event");
  check(cudaEventCreate(&p.end), "event");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "device");
  p.gpu = properties.name;
  std::printf(
      "gpu,op,dtype,pass,m,n,k,batch,q_heads,kv_heads,head_dim,q_len,kv_len,bytes,seconds,sustained,"
      "watts\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  Row idle;
  idle.op = "idle";
  p.print(idle, 1, true, p.meter.watts());
  probe_passes(p);
  probe_host_link(p);
  probe_products(p, false);
  if (properties.major >= 9 || (properties.major == 8 && properties.minor == 9)) {
    probe_products(p, true);
  }
  return 0;
}
