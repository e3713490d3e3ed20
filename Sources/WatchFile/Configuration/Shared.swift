/// A value kept once, however many refer to it.
package final class Shared<Value: Sendable>: Sendable {
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
