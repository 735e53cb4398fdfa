import {
  type CallHandler,
  type DynamicModule,
  type ExecutionContext,
  Inject,
  type InjectionToken,
  Module,
  mixin,
  type NestInterceptor,
  type OnApplicationShutdown,
  type OnModuleInit,
  UseInterceptors,
} from '@nestjs/common';
import { catchError, concatMap, from, type Observable } from 'rxjs';
import { AuditClient, type AuditOptions, type NewAuditEvent, type SpoolOptions } from './index.js';

/** What is known of a call when its handler has ended. */
export interface AuditedCall<Request = AuditedRequest, Result = unknown> {
  readonly request: Request;
  /** What the handler returned; undefined if it failed. */
  readonly result?: Result;
  readonly context: ExecutionContext;
}

/** What a request of Express and of Fastify has. */
export interface AuditedRequest {
  readonly ip?: string;
  readonly params: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface AuditModuleOptions extends AuditOptions {
  readonly spool: SpoolOptions;
  /** Who made the request. Default: the event has the subject of the client's key. */
  subject?(call: AuditedCall<never>): NewAuditEvent['subject'];
}

interface AsyncOptions {
  readonly inject?: InjectionToken[];
  useFactory(...given: never[]): AuditModuleOptions | Promise<AuditModuleOptions>;
}

const OPTIONS = Symbol('options of the audit module');

/** Provides an `AuditClient` everywhere. The application starts when the spool is open; call `enableShutdownHooks` to close it. */
@Module({})
export class AuditModule implements OnModuleInit, OnApplicationShutdown {
  static forRoot(options: AuditModuleOptions): DynamicModule {
    return AuditModule.forRootAsync({ useFactory: () => options });
  }

  static forRootAsync({ inject = [], useFactory }: AsyncOptions): DynamicModule {
    const options = { provide: OPTIONS, inject, useFactory };
    const client = {
      provide: AuditClient,
      inject: [OPTIONS],
      useFactory: (given: AuditModuleOptions) => new AuditClient(given),
    };
    return { module: AuditModule, global: true, providers: [options, client], exports: [OPTIONS, AuditClient] };
  }

  constructor(@Inject(AuditClient) private readonly audit: AuditClient) {}

  onModuleInit(): Promise<void> {
    return this.audit.ready();
  }

  /** After the last request has ended. */
  onApplicationShutdown(): Promise<void> {
    return this.audit.close();
  }
}

/**
 * Records an event for each call of the handler, before its response is sent: `OK`, or `DENIED` for the statuses 401 and 403 and
 * `FAILED` for other errors. If the event cannot be recorded, the call fails with that.
 */
export function Audited<Request = AuditedRequest, Result = unknown>(
  action: string,
  resource: (call: AuditedCall<Request, Result>) => NewAuditEvent['resource'],
): MethodDecorator & ClassDecorator {
  class AuditedInterceptor implements NestInterceptor {
    constructor(
      @Inject(AuditClient) readonly audit: AuditClient,
      @Inject(OPTIONS) readonly options: AuditModuleOptions,
    ) {}

    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const request = context.switchToHttp().getRequest<Request & Partial<AuditedRequest>>();
      const record = (call: AuditedCall<Request, Result>, result: NewAuditEvent['result']) =>
        this.audit.record({
          resource: resource(call),
          action: { type: action },
          result,
          subject: this.options.subject?.(call as AuditedCall<never>),
          context: { remoteIp: request.ip },
        });
      const failed = async (error: unknown): Promise<never> => {
        await record({ request, context }, outcomeOf(error));
        throw error;
      };
      const succeeded = async (result: Result): Promise<Result> => {
        await record({ request, context, result }, { status: 'OK' });
        return result;
      };
      return next.handle().pipe(
        catchError((error) => from(failed(error))),
        concatMap(succeeded),
      );
    }
  }
  return UseInterceptors(mixin(AuditedInterceptor));
}

function outcomeOf(error: unknown): NewAuditEvent['result'] {
  const { status, message } = (error ?? {}) as { status?: unknown; message?: unknown };
  return { status: status === 401 || status === 403 ? 'DENIED' : 'FAILED', message: String(message ?? error) };
}
