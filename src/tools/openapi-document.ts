import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { schemas } from '../http/answers/schemas.js';

/** The OpenAPI document of the routes of an application. */
export function openApiDocument(app: INestApplication, version: string): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Control Service')
    .setDescription('An organization-scoped audit log and control API. `docs/errors.md` describes the error codes.')
    .setVersion(version)
    .addApiKey(
      { type: 'apiKey', in: 'header', name: 'Authorization', description: '`Bearer <key>`, or the key alone' },
      'key',
    )
    .build();
  const document = SwaggerModule.createDocument(app, config, {
    operationIdFactory: (controller, method) => `${controller.replace('Controller', '')}.${method}`,
  });
  document.components = {
    ...document.components,
    schemas: schemas() as NonNullable<OpenAPIObject['components']>['schemas'] & object,
  };
  return document;
}
