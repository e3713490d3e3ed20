/// The usual and the bad case of many times, µs.
struct Percentiles: Encodable {
    var p50: Int64
    var p99: Int64

    /// By nearest rank. There must be at least one.
    init(_ times: [Int64]) {
        let sorted = times.sorted()
        func rank(_ percent: Int) -> Int64 { sorted[max(0, (sorted.count * percent + 99) / 100 - 1)] }
        (p50, p99) = (rank(50), rank(99))
    }
}

/// What several rounds gave: their median and their range.
struct Rounds: Encodable {
    var median: Double
    var low: Double
    var high: Double

    /// There must be at least one.
    init(_ values: [Double]) {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        (low, high) = (sorted[0], sorted[sorted.count - 1])
    }

    init(_ values: [Int64]) { self.init(values.map(Double.init)) }
}

extension Double {
    /// With this many digits (0 to 3) behind the point.
    func text(_ digits: Int) -> String {
        let scale = [1, 10, 100, 1000][digits]
        let scaled = Int((magnitude * Double(scale)).rounded())
        let fraction = String(scaled % scale)
        let whole = (self < 0 ? "-" : "") + String(scaled / scale)
        return digits == 0 ? whole : whole + "." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}
