// Quantities as types: different dimensions do not add, and a product carries its unit.
//
// A Quantity is a double in base units (byte, second, FLOP, joule, US dollar, gram of CO2, kelvin)
// with the exponents of those units in its type. 5 GB / (2 GB/s) is Seconds; GB + s does not
// compile. A quotient of two quantities of the same type is a plain double, so `size / gib(1)` is
// the size in GiB.
//
// A multiply-add is 2 FLOP. The factory's name says whether a prefix is decimal or binary and
// whether it counts bits or bytes.
#pragma once

#include <compare>

namespace orrery {

template <int Byte, int Second, int Flop, int Joule, int Usd, int Gram, int Kelvin>
class Quantity {
 public:
  constexpr Quantity() = default;
  // The value in base units. Prefer the named factories below if the number has a prefix.
  constexpr explicit Quantity(double base_units) : value_(base_units) {}

  constexpr double base() const { return value_; }

  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity o) { return value_ += o.value_, *this; }
  constexpr Quantity& operator-=(Quantity o) { return value_ -= o.value_, *this; }
  constexpr Quantity& operator*=(double f) { return value_ *= f, *this; }
  constexpr Quantity& operator/=(double f) { return value_ /= f, *this; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, double f) { return a *= f; }
  friend constexpr Quantity operator*(double f, Quantity a) { return a *= f; }
  friend constexpr Quantity operator/(Quantity a, double f) { return a /= f; }
  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;

 private:
  double value_ = 0.0;
};

namespace detail {
// A quotient of two quantities of the same type is a number, not a Quantity without units.
template <int... E>
constexpr auto wrap(double base_units) {
  if constexpr (((E == 0) && ...)) {
    return base_units;
  } else {
    return Quantity<E...>(base_units);
  }
}
}  // namespace detail

template <int... A, int... B>
constexpr auto operator*(Quantity<A...> a, Quantity<B...> b) {
  return detail::wrap<(A + B)...>(a.base() * b.base());
}
template <int... A, int... B>
constexpr auto operator/(Quantity<A...> a, Quantity<B...> b) {
  return detail::wrap<(A - B)...>(a.base() / b.base());
}
template <int... A>
constexpr auto operator/(double f, Quantity<A...> a) {
  return detail::wrap<(-A)...>(f / a.base());
}

//                              byte  s  flop  J  usd  g  K
using Bytes = Quantity<1, 0, 0, 0, 0, 0, 0>;
using Seconds = Quantity<0, 1, 0, 0, 0, 0, 0>;
using Flops = Quantity<0, 0, 1, 0, 0, 0, 0>;
using Joules = Quantity<0, 0, 0, 1, 0, 0, 0>;
using Usd = Quantity<0, 0, 0, 0, 1, 0, 0>;
using GramsCo2 = Quantity<0, 0, 0, 0, 0, 1, 0>;
using Kelvins = Quantity<0, 0, 0, 0, 0, 0, 1>;
using BytesPerSecond = Quantity<1, -1, 0, 0, 0, 0, 0>;
using FlopsPerSecond = Quantity<0, -1, 1, 0, 0, 0, 0>;
using FlopsPerByte = Quantity<-1, 0, 1, 0, 0, 0, 0>;
using Watts = Quantity<0, -1, 0, 1, 0, 0, 0>;
using PerSecond = Quantity<0, -1, 0, 0, 0, 0, 0>;
using UsdPerSecond = Quantity<0, -1, 0, 0, 1, 0, 0>;
using UsdPerJoule = Quantity<0, 0, 0, -1, 1, 0, 0>;
using UsdPerByte = Quantity<-1, 0, 0, 0, 1, 0, 0>;
using UsdPerByteSecond = Quantity<-1, -1, 0, 0, 1, 0, 0>;
using UsdPerWatt = Quantity<0, 1, 0, -1, 1, 0, 0>;
using UsdPerWattSecond = UsdPerJoule;
using GramsPerJoule = Quantity<0, 0, 0, -1, 0, 1, 0>;

constexpr Bytes bytes(double v) { return Bytes(v); }
constexpr Bytes kilobytes(double v) { return Bytes(v * 1e3); }
constexpr Bytes megabytes(double v) { return Bytes(v * 1e6); }
constexpr Bytes gigabytes(double v) { return Bytes(v * 1e9); }
constexpr Bytes terabytes(double v) { return Bytes(v * 1e12); }
constexpr Bytes petabytes(double v) { return Bytes(v * 1e15); }
constexpr Bytes kib(double v) { return Bytes(v * 1024.0); }
constexpr Bytes mib(double v) { return Bytes(v * 1048576.0); }
constexpr Bytes gib(double v) { return Bytes(v * 1073741824.0); }

constexpr BytesPerSecond gbytes_per_s(double v) { return BytesPerSecond(v * 1e9); }
constexpr BytesPerSecond gbits_per_s(double v) { return BytesPerSecond(v * 1e9 / 8.0); }

constexpr Seconds seconds(double v) { return Seconds(v); }
constexpr Seconds milliseconds(double v) { return Seconds(v * 1e-3); }
constexpr Seconds microseconds(double v) { return Seconds(v * 1e-6); }
constexpr Seconds nanoseconds(double v) { return Seconds(v * 1e-9); }
constexpr Seconds minutes(double v) { return Seconds(v * 60.0); }
constexpr Seconds hours(double v) { return Seconds(v * 3600.0); }
constexpr Seconds days(double v) { return Seconds(v * 86400.0); }
constexpr Seconds weeks(double v) { return Seconds(v * 604800.0); }
// 365 days, as energy and price tables count a year (8,760 hours).
constexpr Seconds years(double v) { return Seconds(v * 31536000.0); }
// A twelfth of a year, as monthly rents are counted.
constexpr Seconds months(double v) { return Seconds(v * 2628000.0); }

constexpr Flops flops(double v) { return Flops(v); }
constexpr FlopsPerSecond tflops_per_s(double v) { return FlopsPerSecond(v * 1e12); }

constexpr Watts watts(double v) { return Watts(v); }
constexpr Watts kilowatts(double v) { return Watts(v * 1e3); }
constexpr Watts megawatts(double v) { return Watts(v * 1e6); }
constexpr Joules joules(double v) { return Joules(v); }
constexpr Joules kwh(double v) { return Joules(v * 3.6e6); }
constexpr Joules mwh(double v) { return Joules(v * 3.6e9); }

constexpr Usd usd(double v) { return Usd(v); }
constexpr Usd kilo_usd(double v) { return Usd(v * 1e3); }
constexpr Usd mega_usd(double v) { return Usd(v * 1e6); }
constexpr UsdPerJoule usd_per_kwh(double v) { return UsdPerJoule(v / 3.6e6); }
constexpr UsdPerSecond usd_per_hour(double v) { return UsdPerSecond(v / 3600.0); }

constexpr GramsCo2 grams_co2(double v) { return GramsCo2(v); }
constexpr GramsCo2 tonnes_co2(double v) { return GramsCo2(v * 1e6); }
constexpr GramsPerJoule grams_per_kwh(double v) { return GramsPerJoule(v / 3.6e6); }
constexpr Kelvins kelvins(double v) { return Kelvins(v); }

template <int... E>
constexpr Quantity<E...> min(Quantity<E...> a, Quantity<E...> b) {
  return b < a ? b : a;
}
template <int... E>
constexpr Quantity<E...> max(Quantity<E...> a, Quantity<E...> b) {
  return a < b ? b : a;
}

}  // namespace orrery
