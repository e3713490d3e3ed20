import SeedKit
import Testing

@testable import Engine

@Suite("Names and places")
struct RegistryTests {
    /// All of a few hashes, so that they stand in each other's way.
    private struct Name: Hashable {
        var number: Int

        func hash(into hasher: inout Hasher) { hasher.combine(number % 3) }
    }

    private struct Thing: Named {
        var name: Name
        var text: String
    }

    @Test(arguments: Seeds.range(20))
    func whatStandsInARegistryIsFoundByItsName(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var registry = Registry<Thing>()
        var model: [Name: (index: Int, text: String)] = [:]
        for step in 0..<600 {
            let name = Name(number: Int.random(in: 0..<40, using: &random))
            if let known = model[name] {
                if Bool.random(using: &random) {
                    registry.release(known.index)
                    model[name] = nil
                    #expect(!registry.isInUse(known.index))
                }
            } else {
                let index = registry.insert(Thing(name: name, text: "\(step)"))
                #expect(!model.values.contains { $0.index == index })
                model[name] = (index, "\(step)")
            }
            let wrong = (0..<40).filter { number in
                let name = Name(number: number)
                return registry.index(of: name) != model[name]?.index
            }
            #expect(wrong.isEmpty, "step \(step)")
            #expect(model.allSatisfy { registry[$0.value.index].text == $0.value.text })
        }
        #expect(registry.indices == model.values.map(\.index).sorted())
        #expect(Set(registry.names) == Set(model.keys))
    }

    /// A line may still know an operation that is gone with its slot.
    @Test func aTableThatWasLargeIsSmallWhenItsLastOperationHasEnded() {
        var table = OperationTable()
        func insert(_ id: UInt64) -> (ref: OperationRef, ticket: Ticket) {
            var operation = Operation()
            operation.id = id
            let ref = table.insert(operation)
            return (ref, table.submit(ref))
        }
        let operations = (1...1000).map { insert($0) }
        #expect(operations.allSatisfy { table.isAlive($0.ref) && table.isAlive($0.ticket) })
        for operation in operations.reversed() { table.remove(operation.ref) }
        #expect(table.slotCount == 0)
        let later = insert(1001)
        #expect(!operations.contains { table.isAlive($0.ref) || table.isAlive($0.ticket) })
        #expect(!operations.contains { table.isHere($0.ticket, nil) || table.isWaiting($0.ref) })
        #expect(table.isAlive(later.ref) && table.isAlive(later.ticket))
    }
}
