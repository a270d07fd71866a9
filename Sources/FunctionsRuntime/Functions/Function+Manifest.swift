package import FunctionManifest

extension Function {
    package var manifest: FunctionManifest {
        FunctionManifest(
            name: name,
            regions: options.regions.map(\.rawValue),
            memoryMiB: options.memory.mebibytes,
            timeoutSeconds: Int(clamping: options.effectiveTimeout(of: trigger).components.seconds),
            cpu: options.effectiveCPU,
            concurrency: options.effectiveConcurrency,
            minInstances: options.minInstances,
            maxInstances: options.maxInstances,
            labels: options.labels,
            secrets: options.secretNames,
            rateLimits: options.rateLimits,
            ingress: options.ingress.rawValue,
            invoker: options.invoker,
            isTransactional: handler.isTransactional,
            trigger: trigger)
    }
}
