/// A number and its noun, as a sentence has them: `1 operation`, `3 operations`.
package func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
