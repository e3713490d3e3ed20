/// What has happened in a program up to a standstill, on either side.
struct Progress: Equatable {
    var started: Set<Int> = []
    var ended: Set<Int> = []
    /// How often each group became empty.
    var notices: [Int: Int] = [:]
}
