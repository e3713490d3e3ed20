import Store
import Testing

@Suite("Store errors") struct StoreErrorTests {
    @Test func whoHoldsItIsNamed() {
        #expect(StoreError.locked(folder: Array("/var/lib/watchd".utf8), pid: 7).description.contains("process 7"))
    }
}
