import DocumentModel
package import FunctionManifest

extension FunctionManifest {
    package static func test(
        _ name: String, _ trigger: TriggerManifest, concurrency: Int = 80, maxInstances: Int = 10
    ) -> FunctionManifest {
        FunctionManifest(
            name: name, regions: ["us-central1"], memoryMiB: 256, timeoutSeconds: 60, cpu: 1, concurrency: concurrency,
            minInstances: 0, maxInstances: maxInstances, labels: [:], secrets: [], ingress: "all", invoker: [],
            isTransactional: false, trigger: trigger)
    }

    package static func created(
        _ name: String, _ document: String = "items/{id}", retry: EventRetryManifest? = nil, isOrdered: Bool = false,
        concurrency: Int = 80
    ) -> FunctionManifest {
        test(
            name,
            .document(
                .init(
                    eventType: isOrdered ? .written : .created, document: document, retry: retry,
                    isOrdered: isOrdered)),
            concurrency: concurrency, maxInstances: 1)
    }
}
